export * from './bytes.ts';
export { Memo, RecentMap, Roster, type RosterEntry } from './collections.ts';
export {
  type Cap,
  ERROR_SIDES,
  type ErrorDetail,
  type ErrorSide,
  GATEWAY_CAPS,
  GatewayError,
  type GatewayErrorOptions,
  type PoolName,
  RpcCode,
  rpcCodeName,
  UPSTREAM_CAPS,
} from './error.ts';
export type { Claims, Fact, Facts, FactTopic } from './facts.ts';
export { type FieldNames, type Fields, firstValue, NO_NAMES } from './fields.ts';
export * from './listeners/index.ts';
export { forgetListeners, holdSession } from './node-http2.ts';
export { PACKAGE_ROOT, readVersion } from './package.ts';
export {
  atTurnEnd,
  type Clock,
  type DatagramSocket,
  type Files,
  hexSource,
  inNextTurn,
  type Network,
  type Random,
  type RandomBytes,
  randomKey,
  randomName,
  requestIdSource,
  StallTimer,
  type System,
  systemClock,
  type Timer,
  type TimerClock,
  type TurnTask,
  thisMachine,
  wholeSeconds,
  withTimers,
} from './system.ts';
export { asciiJson, digestOf, escapeUnseen, formatDuration, ownString, parseDurationMs } from './text.ts';
