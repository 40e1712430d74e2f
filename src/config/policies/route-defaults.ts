import { z } from 'zod';
import { OWNED_OF_CALLS } from '../../wire/http/index.ts';
import { asList, asMap, type ConfigFile, isMap, type RawMap } from '../file/index.ts';
import { isAnswered } from './answers.ts';
import { FORWARD_ONLY, PATH_ONLY, policyKeys } from './route-policies.ts';
import { upstreamsNamed } from './shares.ts';

/** What each route says for itself: who may use it, and what depends on its own path. */
const OWN: ReadonlySet<string> = new Set([
  ...['authentication', 'require', 'accept', 'token_from', 'introspection', 'webhook', 'strip_prefix'],
]);

type Keys = typeof policyKeys;

/** The keys of routes that have a default for all routes, without their own defaults. */
export const routeDefaultsSchema = z
  .strictObject(
    Object.fromEntries(
      Object.entries(policyKeys)
        .filter(([key]) => !OWN.has(key))
        .map(([key, schema]) => [key, withoutDefault(schema)]),
    ) as { [Key in keyof Keys]: z.ZodOptional<Keys[Key]> },
    { error: 'expected a map such as { max_body: 100MiB }' },
  )
  .optional()
  .describe(
    'Keys of routes, for every route that does not say otherwise: all but those that say which requests it takes, who may use it, and where it leads. Left out where a kind of route has no such key.',
  );

function withoutDefault(schema: z.ZodType): z.ZodType {
  const inner = schema instanceof z.ZodPrefault ? (schema.unwrap() as z.ZodType) : schema;
  return inner.optional().describe(schema.description ?? '');
}

/** The keys of `timeouts` that upstreams have as well. */
const TIMEOUTS = 'timeouts';

/**
 * Gives routes the keys of `defaults` that they lack, as if they were written there. Timeouts go to upstreams, since those of an
 * upstream go before them.
 */
export function fillRouteDefaults(file: ConfigFile, { defaults, routes, upstreams }: RawMap): void {
  if (!isMap(defaults)) return;
  const keys = Object.keys(defaults).filter(key => Object.hasOwn(policyKeys, key) && !OWN.has(key));
  for (const [index, route] of asList(routes).entries()) {
    if (!isMap(route)) continue;
    const given = { route: { ...route }, defaults, upstreams: asMap(upstreams) };
    for (const key of keys)
      if (key !== TIMEOUTS && route[key] === undefined && takes(key, given))
        file.share(['defaults', key], ['routes', index, key]);
  }
  if (!isMap(defaults[TIMEOUTS])) return;
  for (const [name, upstream] of Object.entries(asMap(upstreams))) {
    const { protocol, [TIMEOUTS]: own } = asMap(upstream);
    if (protocol === 'grpc') continue;
    const without = protocol === 'h2' ? 'websocket_idle' : undefined;
    if (own === undefined) file.share(['defaults', TIMEOUTS], ['upstreams', name, TIMEOUTS], without);
    else
      for (const key of Object.keys(defaults[TIMEOUTS]))
        if (key !== without && asMap(own)[key] === undefined)
          file.share(['defaults', TIMEOUTS, key], ['upstreams', name, TIMEOUTS, key]);
  }
}

/** A route, and what stands around it. */
interface Given {
  readonly route: RawMap;
  readonly defaults: RawMap;
  readonly upstreams: RawMap;
}

/** Whether a route may have a key of `defaults`: its kind has such a key, and none of its own keys rules it out. */
function takes(key: string, given: Given): boolean {
  const { route } = given;
  if (route.grpc === undefined ? key === 'grpc_web' : PATH_ONLY.includes(key)) return false;
  if (isAnswered(route) && FORWARD_ONLY.includes(key)) return false;
  return RULED_OUT.get(key)?.(given) !== true;
}

/** When other keys of a route rule out what `defaults` say for a key. */
const RULED_OUT: ReadonlyMap<string, (given: Given) => boolean> = new Map([
  ['close_at_expiry', ({ route }) => route.authentication === 'none'],
  [
    'cors',
    ({ route, defaults }) => route.grpc !== undefined && (route.grpc_web ?? defaults.grpc_web) !== true,
  ],
  ['trailing_slash', ({ route }) => /\*\*$|^\/$/.test(String(route.path))],
  ['websocket', ({ route, defaults, upstreams }) => defaults.websocket === true && !opens(route, upstreams)],
  [
    'rate_limit_headers',
    ({ route, defaults }) => defaults.rate_limit_headers === 'service' && route.upstream_429 !== undefined,
  ],
  ['upstream_429', ({ route }) => route.rate_limit_headers === 'service'],
  ['request_headers', ({ route, defaults }) => changesCalls(route, defaults.request_headers)],
  ['response_headers', ({ route, defaults }) => changesCalls(route, defaults.response_headers)],
]);

/** Whether WebSockets can be opened on a route. */
function opens(route: RawMap, upstreams: RawMap): boolean {
  if (Array.isArray(route.methods) && !route.methods.includes('GET')) return false;
  return upstreamsNamed(route, []).every(({ name }) => asMap(upstreams[name]).protocol !== 'h2');
}

/** Whether a route serves calls, which need a field as it is that these edits change. */
function changesCalls({ grpc }: RawMap, edits: unknown): boolean {
  if (grpc === undefined) return false;
  const { set, remove } = asMap(edits);
  const names = [...Object.keys(asMap(set)), ...asList(remove)];
  return names.some(name => OWNED_OF_CALLS.get(String(name)) !== undefined);
}
