export { runTest, type TestFailure } from './run-test.ts';
