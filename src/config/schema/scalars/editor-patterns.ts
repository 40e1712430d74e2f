import { ROUTABLE_METHODS } from '../../../routing/index.ts';

// Regular expressions for the JSON Schema, where a parser decides in the gateway. Editors and other validators have only these.
// They may accept what the parser rejects (a repeated parameter), never the reverse.

/** 1 to 65535 in a period of 1s to 18h: `parseQuota`. */
const UNITS = oneOf(
  '[1-9]\\d{0,3}',
  '[1-5]\\d{4}',
  '6[0-4]\\d{3}',
  '65[0-4]\\d\\d',
  '655[0-2]\\d',
  '6553[0-5]',
);
const SECONDS = oneOf('[1-9]\\d{0,3}', '[1-5]\\d{4}', '6[0-3]\\d{3}', '64[0-7]\\d\\d', '64800');
const MINUTES = oneOf('[1-9]\\d{0,2}', '10[0-7]\\d', '1080');
const HOURS = oneOf('[1-9]', '1[0-8]');
const QUOTA = `${UNITS}/${oneOf(`${SECONDS}s`, `${MINUTES}m`, `${HOURS}h`)}`;

/** `parseRoutePattern`: segments that are literal or one parameter, and "**" at the end. */
const LITERAL = `(?!\\.{1,2}(?:/|$)|:)${oneOf("[A-Za-z0-9._~!$&'()+,=:@-]", '%[0-9A-F]{2}')}+`;
const IDENTIFIER = '[A-Za-z_][A-Za-z0-9_]*';
const PARAMETER = `\\{${IDENTIFIER}\\}`;
const PATH = `(?=/)(?:/${oneOf(LITERAL, PARAMETER)})*(?:/\\*\\*)?/?`;

/** `parseGrpcPattern`. */
const GRPC_CALLS = `${IDENTIFIER}(?:\\.${IDENTIFIER})*/${oneOf(IDENTIFIER, '\\*')}`;

export const QUOTA_PATTERN = `^${QUOTA}$`;
export const QUOTA_OR_OFF_PATTERN = `^${oneOf('off', QUOTA)}$`;
export const PATH_PATTERN = `^${PATH}$`;
export const GRPC_PATTERN = `^${GRPC_CALLS}$`;
/** A line of `routes:` in limits.yaml. */
export const LIMIT_ROUTE_PATTERN = `^${oneOf(`(?:${oneOf(...ROUTABLE_METHODS)}\\s+)?${PATH}`, `GRPC\\s+${GRPC_CALLS}`)}$`;

function oneOf(...ways: readonly string[]): string {
  return `(?:${ways.join('|')})`;
}
