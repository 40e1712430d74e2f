// The value types of keys. A string with a grammar has two checks: a lenient regular expression for editors, and a parser that
// decides. A message that begins with "expected" gets the written value added, unless the schema hides it (secrecy.ts).

export * from './addresses.ts';
export { parseHost, routeHosts } from './hosts.ts';
export * from './marks.ts';
export * from './patterns.ts';
export * from './plain-values.ts';
export * from './quantities.ts';
export { refuse } from './refuse.ts';
export * from './schema-parts.ts';
export * from './secrecy.ts';
export * from './statuses.ts';
