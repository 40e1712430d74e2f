// What keys take. Strings with a grammar have a lenient regular expression for editors each, and a parser that decides. The value
// as written is added to a message that begins with "expected", unless the schema hides it (secrecy.ts).

export * from './addresses.ts';
export * from './meaning.ts';
export { otherWord } from './other-words.ts';
export { grpcRoute, limitRoute, ownPath, parseLimitRoute, routePath, token } from './patterns.ts';
export * from './plain-values.ts';
export * from './protocols.ts';
export * from './quantities.ts';
export { EACH, markOf, secrecyOf, secret, secretInFile, secretPaths, shown, unshown } from './secrecy.ts';
