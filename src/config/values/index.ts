// What keys take. Strings with a grammar have a lenient regular expression for editors each, and a parser that decides. The value
// as written is added to a message that begins with "expected", unless the schema hides it (secrecy.ts).

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
export { parseLimitRoute } from './limit-route.ts';
export { otherWord } from './other-words.ts';
export { grpcRoute, limitRoute, ownPath, routePath, token } from './patterns.ts';
export {
  choice,
  count,
  fillTyped,
  mapSuchAs,
  name,
  type PlacedIssue,
  pathOfFile,
  text,
  yesOrNo,
} from './plain-values.ts';
export { onlyFor, type ProtocolKey, protocolKeysIn } from './protocols.ts';
export {
  duration,
  durationOrOff,
  formatSize,
  KIB,
  MIB,
  momentOrNone,
  percentage,
  quota,
  quotaOrOff,
  rateOrOff,
  shareOfCallers,
  size,
  sizeOrNone,
} from './quantities.ts';
export { EACH, markOf, secrecyOf, secret, secretInFile, secretPaths, shown, unshown } from './secrecy.ts';
