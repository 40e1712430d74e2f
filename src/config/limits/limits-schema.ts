import { z } from 'zod';
import { CALLER_CLASSES } from '../../core/index.ts';
import { MAX_UNITS } from '../../limits/index.ts';
import { hasOwnMeaning, RESERVED_CALL_FIELDS, RESERVED_RESPONSE_FIELDS } from '../../wire/http/index.ts';
import { bucketSettingKeys } from '../policies/index.ts';
import {
  bucketQuotas,
  callerEntry,
  choice,
  claimedQuota,
  count,
  duration,
  durationOrOff,
  eachOnce,
  httpToken,
  limitRoute,
  list,
  mapExpected,
  mapOf,
  name,
  network,
  networkOrCaller,
  percentage,
  quotaRateOrOff,
  quotas,
  quotasOrOff,
  rate,
  text,
  timeZone,
  translatorPrefix,
  wholeNumber,
  word,
  yesOrNo,
} from '../values/index.ts';

// The one definition of limits.yaml, built like that of gateway.yaml (settings/).

/** The largest `Retry-After`: clients keep it in 16 bits. */
const MAX_WAIT = '65535s';
/** The quota of each caller if limits.yaml sets none. */
const DEFAULT_QUOTA = '50/1s';
const HEADERS = '[x-ratelimit] or [x-ratelimit, ratelimit]';
const COST = 'expected a whole number from 1 to 65535';
const PRICE = '{ response_field: X-Usage, reserve: 100, most: 20000 }';

const globalLimits = z.strictObject({
  bot: quotasOrOff(DEFAULT_QUOTA).describe(`The quota of each bot, such as ${DEFAULT_QUOTA}, or off.`),
  user: quotasOrOff(DEFAULT_QUOTA).describe(`The quota of each user, such as ${DEFAULT_QUOTA}, or off.`),
  address: quotasOrOff(DEFAULT_QUOTA).describe(
    `The quota of each address, for all its callers without a valid token, such as ${DEFAULT_QUOTA}, or off.`,
  ),
  classes: byClass(quotasOrOff(), '200/1s').describe(
    'The quota of each caller of a class of gateway.yaml, or off. Left out: the same as user.',
  ),
  shadow: shadow(
    {
      bot: quotas().optional().describe('The quota to try on each bot.'),
      user: quotas().optional().describe('The quota to try on each user.'),
      address: quotas().optional().describe('The quota to try on each address.'),
      classes: byClass(quotas(), '100/1s').describe('The quotas to try on each caller of a class.'),
    },
    '{ user: 30/1s }',
  ).describe(
    'true: the global limit only counts what it would refuse, and refuses nothing. A map: numbers that are only counted in this way, while the others stay in force.',
  ),
});

/** The keys of one bucket. The checks use them one by one, so that an error in one does not hide those in the others. */
export const bucketKeys = {
  main: z
    .string({ error: 'expected the name of a parameter such as channel_id' })
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, {
      error: 'expected the name of a parameter such as channel_id, without braces',
    })
    .optional()
    .describe(
      'The main path parameter: each of its values is counted separately. Every route of the bucket must have it. Left out: one counter per caller.',
    ),
  user: claimedQuota()
    .optional()
    .describe(
      'The quota of each user: 20/5s, or one whose number the token says. Left out: users are not limited by this bucket.',
    ),
  bot: claimedQuota().optional().describe('The quota of each bot. Left out: the same as user.'),
  address: bucketQuotas()
    .optional()
    .describe('The quota of each address, for callers without a valid token. Left out: the same as user.'),
  classes: byClass(claimedQuota(), '100/1m').describe(
    'The quota of each caller of a class of gateway.yaml. Left out: the same as user.',
  ),
  group: group()
    .optional()
    .describe('The quota of all callers together whose tokens have the same value of a claim.'),
  resource: bucketQuotas()
    .optional()
    .describe('The quota of all callers together for each value of the main parameter.'),
  ...bucketSettingKeys,
  shadow: shadow(
    {
      user: claimedQuota().optional().describe('The quota to try on each user.'),
      bot: claimedQuota().optional().describe('The quota to try on each bot.'),
      address: bucketQuotas().optional().describe('The quota to try on each address.'),
      classes: byClass(claimedQuota(), '100/1m').describe('The quotas to try on each caller of a class.'),
      group: group().optional().describe('The quota to try on each group, by the same claim.'),
      resource: bucketQuotas().optional().describe('The quota to try on all callers together.'),
    },
    '{ user: 10/5s }',
  ).describe(
    'true: the bucket counts what it would refuse, but refuses nothing. A map: these numbers are only counted in this way, while the others stay in force.',
  ),
  enforce: percentage('100%').describe(
    'The share of callers for whom the numbers under shadow are in force, the same callers in every gateway; the others keep the numbers in force. Without such numbers: the share of callers that the bucket limits.',
  ),
};
const bucket = mapOf('{ user: 20/5s }', bucketKeys);

/** The shape of limits.yaml. limit-checks.ts checks how its parts fit together. */
export const limitsSchema = z.strictObject({
  ipv6_prefix: wholeNumber(48, 64, 'expected a whole number from 48 to 64')
    .prefault(64)
    .describe(
      'The IPv6 network that counts as one address, 48 to 64. Changes take effect after a restart, since the counters have other names then.',
    ),
  nat64_prefixes: list(translatorPrefix(), 'expected a list such as ["2001:db8:64::/96"]').describe(
    'IPv6 prefixes in which translators embed IPv4 addresses (RFC 6052), besides 64:ff9b::/96: these addresses count as the IPv4 address in them. Changes take effect after a restart.',
  ),
  time_zone: timeZone()
    .prefault('UTC')
    .describe(
      'Where the day, week or month of a quota begins at midnight. A window that is open ends as it was announced; the next one follows another zone.',
    ),
  global: z
    .union([z.literal('off'), globalLimits], {
      error: `expected off, or a map such as { bot: ${DEFAULT_QUOTA}, user: ${DEFAULT_QUOTA}, address: ${DEFAULT_QUOTA} }`,
    })
    .prefault({})
    .describe(
      'The quota of one caller over all routes; beyond it a global 429. Independent of buckets. off: no global limit.',
    ),
  invalid_requests: offence('10000/10m', {})
    .prefault({})
    .describe(
      'Requests of one address that end with 401, 403 or 429 (without scope shared). Beyond the limit the address is restricted. Or off.',
    ),
  webhook_not_found: offence('10/10m', {})
    .prefault({})
    .describe(
      'Requests of one address to one webhook (a route with "webhook: true") that the upstream answers with 404. Beyond the limit the address is restricted on this webhook. Or off.',
    ),
  ignored_refusals: offence('1000/10m', {
    addresses: yesOrNo(false).describe(
      'Whether callers without a valid token are restricted, too: by address, which may belong to a whole network or to a load balancer missing from trusted_proxies.',
    ),
  })
    .prefault({})
    .describe(
      'Requests of one caller that are refused again before the Retry-After of its last 429 is over. Beyond the limit the caller is restricted. Or off.',
    ),
  never_restrict: list(
    networkOrCaller(),
    'expected a list such as [192.0.2.0/24, { client: web, subject: alice }]',
  ).describe(
    'Networks, addresses and callers (by each claim of access_tokens.principal) that are never restricted or blocked. Their limits still apply.',
  ),
  blocked: mapOf('{ addresses: [192.0.2.7] }', {
    addresses: list(network(), 'expected a list of networks such as [192.0.2.0/24]').describe(
      'Networks and addresses.',
    ),
    callers: list(callerEntry(), 'expected a list such as [{ client: web, subject: alice }]').describe(
      'Bots and users, by each claim of access_tokens.principal.',
    ),
  })
    .prefault({})
    .describe(
      'Every request from these gets 429 for as long as they are listed, as if they were restricted.',
    ),
  failed_verifications: quotaRateOrOff()
    .prefault('1000/1m')
    .describe(
      'How many tokens of one address may fail the signature check or name an unknown key: a quota such as 1000/1m, or off. Beyond it, most requests of the address with a token that the gateway has not seen get 429 until the period is over.',
    ),
  buckets: z
    .record(name(), bucket, mapExpected('{ messages: { user: 20/5s } }'))
    .prefault({})
    .describe('Limits that routes share, by name. A bucket does not limit callers for whom it has no quota.'),
  routes: z
    .record(limitRoute(), limitLine(), mapExpected('{ GET /v1/messages: messages }'))
    .prefault({})
    .describe(
      'Which requests use which bucket: "GET /v1/things/{id}", or a path alone for every method; "GET api.example.com/v1/things/{id}" for one host. The most specific line wins; order does not matter. Other requests have no bucket.',
    ),
  keys_per_caller: count(1_000_000, 4096).describe(
    'Maximum number of main-parameter values counted separately per caller at a time. Other values share a counter.',
  ),
  window_slack: duration({ min: '0ms', max: '1s', otherwise: '20ms' }).describe(
    'For clients whose clock is slightly ahead: requests that arrive up to this long before the reset of an exhausted window count in the next window. At most 2% of the period.',
  ),
  patience: durationOrOff({ max: '1s', otherwise: 'off' }).describe(
    'A request that would have to wait no longer than this is held and decided again, instead of being refused: for clients that pace themselves to within a few milliseconds. At most 100 of one caller and 1000 in all. 1ms to 1s, or off.',
  ),
  headers: z
    .array(word(['x-ratelimit', 'ratelimit']), { error: `expected ${HEADERS}` })
    .refine(list => list.includes('x-ratelimit'), {
      error: `x-ratelimit must be among them: clients of this API rely on it. Write ${HEADERS}`,
    })
    .superRefine(eachOnce)
    .prefault(['x-ratelimit'])
    .describe(
      'The header families that tell clients about their limits. x-ratelimit: X-RateLimit-Limit and the related fields. ratelimit: RateLimit and RateLimit-Policy of the IETF draft, in addition.',
    ),
  bucket_hash: choice(['value', 'route']).describe(
    'What X-RateLimit-Bucket is derived from. value: the bucket and the value of its main parameter. route: only the bucket, for client libraries that add the value themselves.',
  ),
});

/** limits.yaml with all defaults: times in milliseconds. */
export type LimitsConfig = z.output<typeof limitsSchema>;
export type BucketConfig = z.output<typeof bucket>;
/** The rule of an offence, or `off`. */
export type OffenceConfig = LimitsConfig['invalid_requests'];

/** The value of a line of `routes:`: the name of a bucket, or a map with more. */
function limitLine() {
  const bucket = z.string({ error: 'expected the name of a bucket' });
  const map = z.strictObject({
    bucket: bucket.describe('The name of the bucket.'),
    cost: z
      .union([count(65_535), price()], { error: `${COST}, or a map such as ${PRICE}` })
      .prefault(1)
      .describe(
        'How many units of each limit of the bucket one request takes, all or none; of the global limit always one. Where the bucket has quotas with "unit: cost", of those alone, and of every other quota one. At most the smallest number that it is taken from. A map: a cost that the response names.',
      ),
  });
  return z.union([bucket.transform(name => ({ bucket: name, cost: 1 })), map], {
    error: 'expected the name of a bucket, or a map such as { bucket: exports, cost: 5 }',
  });
}

/** A cost that the response names. */
function price() {
  const map = mapOf(PRICE, {
    response_field: httpToken('expected the name of a header field such as X-Usage')
      .refine(
        name =>
          [RESERVED_RESPONSE_FIELDS, RESERVED_CALL_FIELDS].every(owned => owned.get(name) === undefined),
        {
          error: 'the gateway itself reads or writes this field: name another',
          abort: true,
        },
      )
      .refine(name => !hasOwnMeaning(name), {
        error: 'is a field with another meaning for clients: name one for prices alone, such as X-Usage',
      })
      .describe(
        'The header field or trailer in which the service says what the request cost: one whole number.',
      ),
    reserve: count(MAX_UNITS, 1).describe(
      'What is charged when the request is admitted; the difference is charged, or given back, when the price is known. If the response has no price, this is the price.',
    ),
    most: count(MAX_UNITS).describe(
      'The most that a request is charged, and what it pays if its client leaves, or its stream breaks, before the price is known.',
    ),
    pass: yesOrNo(false).describe(
      'Whether clients get the field. false: it goes no further than the gateway.',
    ),
  });
  return map.superRefine(({ reserve, most }, context) => {
    const message = `is less than "reserve": write at least ${reserve}, or lower "reserve"`;
    if (most < reserve) context.addIssue({ code: 'custom', path: ['most'], message });
  });
}

function className() {
  return name().refine(word => !CALLER_CLASSES.some(each => each === word), {
    error: 'has its own key next to "classes"',
  });
}

/** @param example for messages, such as 100/1m */
function byClass<Quotas extends z.ZodType>(quotas: Quotas, example: string) {
  return z.record(className(), quotas, mapExpected(`{ partner: ${example} }`)).optional();
}

/** A quota that callers share, by a claim. */
function group() {
  const example = '{ claim: organization, limit: 500/1m }';
  const claim = 'expected the name of a claim such as organization';
  return mapOf(example, {
    claim: text(claim).describe('The claim that distinguishes groups. A token without it belongs to none.'),
    limit: bucketQuotas().describe('The quota of each of its values: 500/1m.'),
  });
}

/** Whether a limit is in shadow, or the trial numbers to count in parallel. */
function shadow<Quotas extends z.ZodRawShape>(quotas: Quotas, example: string) {
  return z
    .union([z.boolean(), z.strictObject(quotas)], {
      error: `expected true, false, or a map such as ${example}`,
    })
    .prefault(false);
}

/** @param limit its default */
function offence<More extends z.ZodRawShape>(limit: string, more: More) {
  const rule = z.strictObject({
    limit: rate()
      .prefault(limit)
      .describe('How many are allowed per period; the next one triggers the restriction.'),
    restrict_for: duration({ min: '1s', max: MAX_WAIT, otherwise: '10m' }).describe(
      'How long a restriction lasts, 1s to 65535s.',
    ),
    ...more,
  });
  return z.union([z.literal('off'), rule], {
    error: `expected off, or a map such as { limit: ${limit}, restrict_for: 10m }`,
  });
}
