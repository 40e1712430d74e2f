// Strings with a grammar. Each has a lenient regular expression for editors, and a parser that decides. The value as written
// is added to a message that begins with "expected", unless the schema hides it (secrecy.ts).

export {
  HOST_PORT_EXPECTED,
  HOST_PORT_OR_OFF_EXPECTED,
  hostPort,
  hostPortOrOff,
  network,
  upstreamUrl,
} from './addresses.ts';
export { blockableNetwork, callerEntry, networkOrCaller } from './callers.ts';
export { ownPath } from './own-path.ts';
export { grpcRoute, limitRoute, routePath, token } from './patterns.ts';
export {
  duration,
  durationOrOff,
  momentOrNone,
  percentage,
  rateOrOff,
  share,
  size,
  sizeOrNone,
} from './quantities.ts';
export { quota, quotaOrOff } from './quotas.ts';
export { formatSize } from './size.ts';
