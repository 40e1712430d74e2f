export type {
  BodyLength,
  BodySink,
  BodySource,
  ByteSink,
  ByteStream,
  LendingBytes,
  Release,
} from './bytes/index.ts';
export { GrowingBytes, SocketStream } from './bytes/index.ts';
export {
  atTurnEnd,
  type Clock,
  formatDuration,
  inNextTurn,
  parseDurationMs,
  StallTimer,
  systemClock,
  type Timer,
  type TimerClock,
  type TurnTask,
  wholeSeconds,
  withTimers,
} from './clock.ts';
export {
  type Cap,
  ERROR_SIDES,
  type ErrorDetail,
  type ErrorSide,
  GATEWAY_CAPS,
  GatewayError,
  type GatewayErrorOptions,
  type PoolName,
  UPSTREAM_CAPS,
} from './error.ts';
export type { Claims, Fact, Facts, FactTopic } from './facts.ts';
export { type FieldNames, type Fields, firstValue, NO_NAMES } from './fields.ts';
export * from './listeners/index.ts';
export { Memo, RecentMap } from './memo.ts';
export { forgetListeners, holdSession } from './node-http2.ts';
export { PACKAGE_ROOT, readVersion } from './package.ts';
export type { ProxyListener, UnlistedProxy } from './proxy-listener.ts';
export { hexSource, type Random, randomKey, requestIdSource } from './random.ts';
export { Roster, type RosterEntry } from './roster.ts';
export { RpcCode, rpcCodeName } from './rpc-code.ts';
export { type Files, type Network, type System, thisMachine } from './system.ts';
export { digestOf, escapeUnseen, ownString } from './text.ts';
