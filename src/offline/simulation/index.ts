export { renderNeeds } from './draw-needs.ts';
export { renderReplay } from './draw-replay.ts';
export { LimitEngine, VirtualClock } from './limit-engine.ts';
export { type ReadCounts, ReplayError } from './log/index.ts';
export { measureLogs } from './measure-logs.ts';
export { type Replayed, replayLogs } from './replay.ts';
export { type LogReport, type Report, simulationReport, type Unanswered } from './report.ts';
export * from './suggestion.ts';
