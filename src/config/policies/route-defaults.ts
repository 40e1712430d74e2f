import { z } from 'zod';
import { asList, asMap, type ConfigFile, isMap, type RawMap } from '../file/index.ts';
import { protocolKeysIn } from '../values/index.ts';
import { OWN_KEYS, policyKeys, takesDefault } from './route-policies.ts';
import { routeTimes } from './upstream-settings.ts';

type Keys = typeof policyKeys;

/** The keys of routes that have a default for all routes, without their own defaults. */
export const routeDefaultsSchema = z
  .strictObject(
    Object.fromEntries(
      Object.entries(policyKeys)
        .filter(([key]) => !OWN_KEYS.has(key))
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

const TIMEOUTS = 'timeouts';
const TIMES = protocolKeysIn(routeTimes);

/**
 * Gives routes the keys of `defaults` that they lack, as if they were written there. Timeouts are added to upstreams instead,
 * because an upstream's own take precedence.
 */
export function fillRouteDefaults(file: ConfigFile, { defaults, routes, upstreams }: RawMap): void {
  if (!isMap(defaults)) return;
  const keys = Object.keys(defaults).filter(key => Object.hasOwn(policyKeys, key) && !OWN_KEYS.has(key));
  for (const [index, route] of asList(routes).entries()) {
    if (!isMap(route)) continue;
    const given = { route: { ...route }, defaults, upstreams: asMap(upstreams) };
    for (const key of keys)
      if (key !== TIMEOUTS && route[key] === undefined && takesDefault(key, given))
        file.share(['defaults', key], ['routes', index, key]);
  }
  if (!isMap(defaults[TIMEOUTS])) return;
  for (const [name, upstream] of Object.entries(asMap(upstreams))) {
    const { protocol = 'http1', [TIMEOUTS]: own } = asMap(upstream);
    const others = TIMES.filter(({ protocols }) => protocols.every(each => each !== protocol));
    const without = others.flatMap(({ path }) => path);
    if (own === undefined) file.share(['defaults', TIMEOUTS], ['upstreams', name, TIMEOUTS], without);
    else
      for (const key of Object.keys(defaults[TIMEOUTS]))
        if (!without.includes(key) && asMap(own)[key] === undefined)
          file.share(['defaults', TIMEOUTS, key], ['upstreams', name, TIMEOUTS, key]);
  }
}
