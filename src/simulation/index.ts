export { LimitEngine, type Verdict } from './limit-engine.ts';
export { runTest } from './run-test.ts';
