import { z } from 'zod';

import { gatewaySecrecy } from './gateway/gateway-schema.ts';
import { choice, count, mapSuchAs, name, yesOrNo } from './plain-values.ts';
import { duration, limitRoute, network, quota, quotaOrOff } from './scalars.ts';
import { secrecyOf } from './secrecy.ts';

// The one definition of limits.yaml, made as that of gateway.yaml is: it validates, gives every default as the operator
// would write it, and becomes the JSON Schema that editors use.

/** `Retry-After` may not pass it: clients keep it in 16 bits. */
const MAX_WAIT = '65535s';

const globalLimits = z.strictObject({
  bot: quotaOrOff().prefault('50/1s').describe('Of one bot: a quota such as 50/1s, or off.'),
  user: quotaOrOff().prefault('50/1s').describe('Of one user: a quota such as 50/1s, or off.'),
  address: quotaOrOff()
    .prefault('50/1s')
    .describe('Of one address, for all callers without a valid token: a quota such as 50/1s, or off.'),
});

/** Parts of the file on their own, so that one can be checked further while another is wrong. */
export const bucketKeys = {
  main: z
    .string({ error: 'expected the name of a parameter such as channel_id' })
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, {
      error: 'expected the name of a parameter such as channel_id, without braces',
    })
    .optional()
    .describe(
      'The main path parameter: each of its values has counters of its own. Every route of the bucket must have it. Left out: one counter for each caller.',
    ),
  user: quota()
    .optional()
    .describe('What one user may send: 20/5s. Left out, users are not limited by this bucket.'),
  bot: quota().optional().describe('What one bot may send. Left out: as one user.'),
  address: quota()
    .optional()
    .describe('What one address may send, for callers without a valid token. Left out: as one user.'),
  resource: quota()
    .optional()
    .describe('What all callers together may send for one value of the main parameter.'),
  algorithm: choice(['fixed', 'smooth'])
    .prefault('fixed')
    .describe(
      'fixed: a window that opens with the first request and is new after the period. smooth: a full burst, then one request per period / number.',
    ),
  scope: choice(['user', 'shared'])
    .optional()
    .describe(
      'The X-RateLimit-Scope that clients are told. Left out: user when one line of routes leads to the bucket, shared when several do.',
    ),
};
const bucket = z.strictObject(bucketKeys, mapSuchAs('{ user: 20/5s }'));

/** The shape of limits.yaml: what operations tunes under load. What one part says about another is in limit-checks.ts. */
export const limitsSchema = z.strictObject({
  global: z
    .union([z.literal('off'), globalLimits], {
      error: 'expected off, or a map such as { bot: 50/1s, user: 50/1s, address: 50/1s }',
    })
    .prefault({})
    .describe(
      'What one caller may send in all, whatever the routes; beyond it a global 429. Independent of buckets. off: nothing is limited globally.',
    ),
  invalid_requests: offence('10000/10m', {})
    .prefault({})
    .describe(
      'Requests of one address that end with 401, 403 or 429 (without scope shared). Past the limit the address is restricted. Or off.',
    ),
  webhook_not_found: offence('10/10m', {})
    .prefault({})
    .describe(
      'Requests of one address to one webhook (a route with "webhook: true") that the upstream answers with 404. Past the limit this address is restricted on this webhook. Or off.',
    ),
  ignored_refusals: offence('1000/10m', {
    addresses: yesOrNo()
      .prefault(false)
      .describe(
        'Whether callers without a valid token are restricted, too: their whole address, which may be that of a network or of a load balancer that is missing in trusted_proxies.',
      ),
  })
    .prefault({})
    .describe(
      'Requests of one caller that are refused again before the wait of their last 429 is over. Past the limit the caller is restricted. Or off.',
    ),
  never_restrict: z
    .array(network(), { error: 'expected a list of networks such as [192.0.2.0/24]' })
    .prefault([])
    .describe('Networks and addresses that are never restricted. Their limits hold all the same.'),
  failed_verifications: quotaOrOff()
    .prefault('1000/1m')
    .describe(
      'Tokens of one address that fail a signature check, or name an unknown key: a number per period, 1000/1m, or off. Past it the address gets 429 for all but a few unknown tokens until the period is over.',
    ),
  buckets: z
    .record(name(), bucket, mapSuchAs('{ messages: { user: 20/5s } }'))
    .prefault({})
    .describe(
      'Limits that routes share, by name. A caller without a number in a bucket is not limited by it.',
    ),
  routes: z
    .record(
      limitRoute(),
      z.string({ error: 'expected the name of a bucket' }),
      mapSuchAs('{ GET /v1/messages: messages }'),
    )
    .prefault({})
    .describe(
      'Which requests draw on which bucket: "GET /v1/things/{id}", or a path alone for every method. The most specific line wins, order means nothing. What no line takes has no bucket.',
    ),
  keys_per_caller: count(1_000_000)
    .prefault(4096)
    .describe(
      'Values of main parameters that are counted separately for one caller at a time. Its further ones share a counter.',
    ),
  window_slack: duration({ min: '0ms', max: '1s' })
    .prefault('20ms')
    .describe(
      'So long before its reset a window that is used up lets requests draw on the next one, for clients whose clock is a little ahead; never more than 2% of its period.',
    ),
  bucket_hash: choice(['value', 'route'])
    .prefault('value')
    .describe(
      'What X-RateLimit-Bucket is made of. value: the bucket and the value of its main parameter. route: the bucket alone, for client libraries that add the value by themselves.',
    ),
});

/** A secret belongs into gateway.yaml, and may be here by mistake. */
export const limitsSecrecy = { ...secrecyOf(limitsSchema), keys: gatewaySecrecy.keys };

/** limits.yaml with every default filled in: times in milliseconds. */
export type LimitsConfig = z.output<typeof limitsSchema>;
export type BucketConfig = z.output<typeof bucket>;
/** How many of an offence are allowed and what follows, or that it is not counted. */
export type OffenceConfig = LimitsConfig['invalid_requests'];

/** @param limit its default when it is a map. */
function offence<More extends z.ZodRawShape>(limit: string, more: More) {
  const rule = z.strictObject({
    limit: quota().prefault(limit).describe('How many are allowed per period; the next one restricts.'),
    restrict_for: duration({ min: '1s', max: MAX_WAIT })
      .prefault('10m')
      .describe('How long a restriction lasts, 1s to 65535s.'),
    ...more,
  });
  return z.union([z.literal('off'), rule], {
    error: `expected off, or a map such as { limit: ${limit}, restrict_for: 10m }`,
  });
}
