export { type Activity, Introspection } from './introspection.ts';
