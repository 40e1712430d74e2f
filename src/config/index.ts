export type {
  CapsModel,
  HostPort,
  ListenModel,
  LogModel,
  RouteModel,
  ShutdownModel,
  Snapshot,
  TimeoutsModel,
  UpstreamModel,
} from './model.ts';
export { formatProblem, type Problem, type Severity } from './problem.ts';
