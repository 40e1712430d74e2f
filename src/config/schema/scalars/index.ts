// Strings with a grammar. Each has a lenient regular expression for editors, and a parser that decides. The value as written
// is added to a message that begins with "expected", unless the schema hides it (secrecy.ts).

export {
  blockableNetwork,
  callerEntry,
  HOST_PORT_EXPECTED,
  HOST_PORT_OR_OFF_EXPECTED,
  hostPort,
  hostPortOrOff,
  network,
  networkOrCaller,
  upstreamUrl,
} from './addresses.ts';
export { grpcRoute, limitRoute, ownPath, routePath, token } from './patterns.ts';
export {
  duration,
  durationOrOff,
  formatSize,
  momentOrNone,
  percentage,
  quota,
  quotaOrOff,
  rateOrOff,
  shareOfCallers,
  size,
  sizeOrNone,
} from './quantities.ts';
