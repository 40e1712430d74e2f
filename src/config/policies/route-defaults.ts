import { z } from 'zod';
import { asList, asMap, type ConfigFile, isMap, type RawMap } from '../file/index.ts';
import { isAnswered } from './answers.ts';
import { FORWARD_ONLY, PATH_ONLY, policyKeys } from './route-policies.ts';

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
  for (const [index, route] of asList(routes).entries())
    for (const key of keys)
      if (isMap(route) && key !== TIMEOUTS && route[key] === undefined && hasKey(route, key))
        file.share(['defaults', key], ['routes', index, key]);
  if (!isMap(defaults[TIMEOUTS])) return;
  for (const [name, upstream] of Object.entries(asMap(upstreams))) {
    const { protocol, [TIMEOUTS]: own } = asMap(upstream);
    if (protocol === 'grpc') continue;
    if (own === undefined) file.share(['defaults', TIMEOUTS], ['upstreams', name, TIMEOUTS]);
    else
      for (const key of Object.keys(defaults[TIMEOUTS]))
        if (asMap(own)[key] === undefined)
          file.share(['defaults', TIMEOUTS, key], ['upstreams', name, TIMEOUTS, key]);
  }
}

function hasKey(route: RawMap, key: string): boolean {
  if (route.grpc === undefined ? key === 'grpc_web' : PATH_ONLY.includes(key)) return false;
  if (isAnswered(route) && FORWARD_ONLY.includes(key)) return false;
  if (key === 'close_at_expiry') return route.authentication !== 'none';
  if (key === 'cors') return route.grpc === undefined || route.grpc_web === true;
  return key !== 'trailing_slash' || !/\*\*$|^\/$/.test(String(route.path));
}
