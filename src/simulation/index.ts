export { LimitEngine, type Verdict } from './limit-engine.ts';
