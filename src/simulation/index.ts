export { renderNeeds } from './draw-needs.ts';
export { renderReplay } from './draw-replay.ts';
export { LimitEngine } from './limit-engine.ts';
export type { ReadCounts } from './log/index.ts';
export { measureLogs } from './measure-logs.ts';
export { type Replayed, replayLogs } from './replay.ts';
export { ReplayError } from './replay-error.ts';
export { type LogReport, type Report, simulationReport } from './report.ts';
export {
  FEWEST_CALLERS,
  PERCENTILES,
  type Percentile,
  panelsOf,
  type SuggestedLimit,
  type SuggestedRestriction,
  type Suggestion,
  suggestLimits,
} from './suggestion.ts';
export type { Unanswered } from './unanswered.ts';
export { VirtualClock } from './virtual-clock.ts';
