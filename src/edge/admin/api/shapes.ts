import { z } from 'zod';
import { RESTRICTED_KINDS, RESTRICTION_REASONS } from '../../../core/index.ts';
import { isExplained } from '../../../explain/index.ts';

// The parameters and bodies of the admin API. openapi.ts makes the schemas of its document from them.

export const moment = () => z.string().meta({ format: 'date-time' });
const text = (description: string) => z.string().describe(description);
const optionalText = (description: string) => z.string().optional().describe(description);
const textOrNull = (description: string) => z.string().nullable().describe(description);

/** A client, as `weir who` takes it: an address, or the claims that identify a caller. */
const whoKeys = {
  address: optionalText('An IP address. IPv6 counts by its /64.'),
  provider: optionalText(
    'The name of the provider whose tokens the caller has. Required with several identity_providers.',
  ),
  client: optionalText('The claim azp of the caller.'),
  subject: optionalText('The claim sub of the caller.'),
  claims: z
    .record(z.string(), z.string())
    .optional()
    .describe('Further claims that access_tokens.principal names. In a query: claims[NAME]=VALUE.'),
  key: optionalText('The name of an API key.'),
  as: z
    .enum(['user', 'bot'])
    .optional()
    .describe('Whether the claims are those of a user or a bot. Default: user.'),
};

const whoSchema = z.strictObject(whoKeys);
export type Who = z.infer<typeof whoSchema>;

export const listSchema = z.strictObject({
  ...whoKeys,
  limit: z.coerce.number().int().min(1).max(1_000).default(100).describe('Most restrictions to list.'),
});

export const newRestrictionSchema = z.strictObject({
  ...whoKeys,
  for: z
    .string()
    .meta({ examples: ['10m'] })
    .describe('How long, at most 24h, as in limits.yaml.'),
});

export const restrictionSchema = z
  .strictObject({
    id: text(
      'Names what is refused, at all gateways: an automatic restriction and one by an operator of the same client share it.',
    ),
    kind: z
      .enum(RESTRICTED_KINDS)
      .describe('What is refused: an address, a caller, or an address on one webhook.'),
    reason: z
      .enum(RESTRICTION_REASONS)
      .describe('The offence, by its key in limits.yaml; operator: added by this API.'),
    since: moment().describe('When it began.'),
    until: moment(),
    address: textOrNull('The address, an IPv6 one as its /64; null: a caller.'),
    caller: textOrNull('The pseudonym of the caller, as in the log; null: an address.'),
  })
  .describe(
    'Address and caller are both null if another gateway announced the restriction and its client has not been seen here.',
  );
export type RestrictionShape = z.infer<typeof restrictionSchema>;

export const restrictionsSchema = z.strictObject({
  total: z.int().describe('Restrictions in force, or those of the requested client.'),
  restrictions: z.array(restrictionSchema),
});

/** The error object (docs/contract.md, 7.1). */
export const errorSchema = z.strictObject({
  code: z.int().describe('A code of google.rpc.Code.'),
  message: z.string(),
  details: z.array(z.looseObject({ '@type': z.string() })),
});

export const explainSchema = z.strictObject({
  method: z
    .string()
    .refine(isExplained, { error: 'expected a method such as GET, or GRPC' })
    .describe('GET, POST, ..., or GRPC for a gRPC call.'),
  path: z
    .string()
    .min(1)
    .describe(
      'As in a request line; of a gRPC call: package.Service/Method; to a host as a URL. Percent-encoded, as any value of a query.',
    ),
  ...whoKeys,
  as: optionalText(
    'Limits of one class of callers only, or the class of these claims: user, bot, address, or a class of gateway.yaml. Default: every class.',
  ),
});

/** An explanation in the form that `weir explain --format json` prints. */
export const explanationSchema = z.strictObject({
  method: z.string(),
  path: z.string(),
  served: z.boolean().describe('false: the gateway refuses the request.'),
  facts: z
    .array(z.strictObject({ about: z.string(), text: z.string() }))
    .describe(
      'The restrictions in force of the requested client (restricted now); then what the gateway would do, and the lines of the configuration that say so, in the order of the gates.',
    ),
});

export const bucketsSchema = z.strictObject({
  ...whoKeys,
  bucket: optionalText('A bucket of limits.yaml. Left out: all of them, and the global limit.'),
  value: z
    .string()
    .min(1)
    .optional()
    .describe('A value of the main parameter of that bucket. Buckets with one count each value separately.'),
  group: z
    .string()
    .min(1)
    .optional()
    .describe(
      'What a group of that bucket has in common, by the value of its claim, in place of a client; with provider if there are several.',
    ),
  class: optionalText(
    'The class of the caller. Left out: the one that lists it by name, else none. For a number that its token sets, "otherwise" is shown.',
  ),
});

const countedIn = z
  .enum(['memory', 'redis', 'local'])
  .describe(
    'memory: this gateway alone. redis: all gateways. local: this gateway, since Redis is unavailable.',
  );

const clientKeys = {
  address: textOrNull('The address of the client, an IPv6 one as its /64.'),
  caller: textOrNull('The pseudonym of the caller, as in the log.'),
};

const allowanceSchema = z.strictObject({
  bucket: textOrNull('null: the global limit.'),
  counts: z
    .enum(['global', 'caller', 'group', 'resource'])
    .describe(
      'Which requests: all of the client, those to the bucket, those of its group, or those of all clients for one value of its main parameter.',
    ),
  quota: z
    .string()
    .meta({ examples: ['20/5s'] })
    .describe('As in limits.yaml.'),
  algorithm: z.enum(['window', 'smooth']),
  shadow: z.boolean().describe('true: for this client it counts, but refuses nothing.'),
  limit: z.int().describe('Of the quota; while Redis is unavailable, the share of this gateway.'),
  used: z.int(),
  remaining: z.int(),
  resetAt: moment().nullable().describe('When remaining will be limit again; null: it is.'),
  waitMs: z.int().describe('How long the next request has to wait for this limit; 0: it need not.'),
});
export type AllowanceShape = z.infer<typeof allowanceSchema>;

const concurrencySchema = z.strictObject({
  bucket: z.string(),
  concurrent: z.int().describe('How many requests of the client may be in flight, for each main value.'),
  inFlight: z
    .int()
    .nullable()
    .describe('How many are; null: the bucket counts each value separately, and none was requested.'),
  shadow: z.boolean().describe('true: for this client it refuses nothing.'),
});

export const bucketsReadSchema = z
  .strictObject({
    countedIn,
    ...clientKeys,
    limits: z.array(allowanceSchema),
    atOnce: z
      .array(concurrencySchema)
      .describe('Buckets that limit how many requests are in flight. A reset changes nothing about them.'),
    needValue: z
      .array(z.string())
      .describe('Buckets that are not shown: they count each value separately. Ask with bucket and value.'),
  })
  .describe('Address and caller are both null where a shared count was requested.');

export const bucketsResetSchema = z
  .strictObject({
    countedIn,
    ...clientKeys,
    global: z.boolean().describe('Whether the global limit was reset.'),
    buckets: z.array(z.string()).describe('The buckets that were reset.'),
  })
  .describe('Address and caller are both null where what all clients share was reset.');
