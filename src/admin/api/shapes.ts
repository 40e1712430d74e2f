import { z } from 'zod';
import { RESTRICTED_KINDS, RESTRICTION_REASONS } from '../../core/index.ts';
import { EXPLAINED_METHODS } from '../../explain/index.ts';

// What the admin API takes and returns. openapi.ts makes the schemas of the document of these.

export const moment = () => z.string().meta({ format: 'date-time' });

/** A client, as `weir who` takes it: an address, or the claims that identify a caller. */
export const whoKeys = {
  address: z.string().optional().describe('An IP address. IPv6 counts by its /64.'),
  provider: z
    .string()
    .optional()
    .describe(
      'The name of the provider whose tokens the caller has. Required with several identity_providers.',
    ),
  client: z.string().optional().describe('The claim azp of the caller.'),
  subject: z.string().optional().describe('The claim sub of the caller.'),
  claims: z
    .record(z.string(), z.string())
    .optional()
    .describe('Further claims that access_tokens.principal names. In a query: claims[NAME]=VALUE.'),
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
    id: z
      .string()
      .describe(
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
    address: z.string().nullable().describe('The address, an IPv6 one as its /64; null: a caller.'),
    caller: z.string().nullable().describe('The pseudonym of the caller, as in the log; null: an address.'),
  })
  .describe(
    'Address and caller are both null if another gateway announced the restriction and its client has not been seen here.',
  );
export type RestrictionShape = z.infer<typeof restrictionSchema>;

export const restrictionsSchema = z.strictObject({
  total: z.int().describe('Restrictions in force, or those of the client asked for.'),
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
    .refine(method => EXPLAINED_METHODS.includes(method), { error: 'expected a method such as GET, or GRPC' })
    .describe('GET, POST, ..., or GRPC for a gRPC call.'),
  path: z
    .string()
    .min(1)
    .describe(
      'As in a request line; of a gRPC call: package.Service/Method. Percent-encoded, as any value of a query.',
    ),
  ...whoKeys,
  as: z
    .enum(['user', 'bot', 'address'])
    .optional()
    .describe('Limits of one class of callers only, or the class of these claims. Default: every class.'),
});

/** An explanation in the form that `weir explain --format json` prints. */
export const explanationSchema = z.strictObject({
  method: z.string(),
  path: z.string(),
  served: z.boolean().describe('false: the gateway refuses the request.'),
  facts: z
    .array(z.strictObject({ about: z.string(), text: z.string() }))
    .describe(
      'The restrictions in force of the client asked about (restricted now); then what the gateway would do, and the lines of the configuration that say so, in the order of the gates.',
    ),
});
