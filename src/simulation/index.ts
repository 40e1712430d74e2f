export { drawReplay } from './draw-replay.ts';
export { LimitEngine, type Verdict } from './limit-engine.ts';
export type { ReadCounts } from './log-file.ts';
export { ReplayError, type Replayed, replayLogs } from './replay.ts';
export { type Report, reportOf } from './report.ts';
export { runTest } from './run-test.ts';
