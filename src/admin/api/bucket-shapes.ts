import { z } from 'zod';
import { moment, whoKeys } from './shapes.ts';

export const bucketsSchema = z.strictObject({
  ...whoKeys,
  bucket: z
    .string()
    .optional()
    .describe('A bucket of limits.yaml. Left out: all of them, and the global limit.'),
  value: z
    .string()
    .min(1)
    .optional()
    .describe('A value of the main parameter of that bucket. Buckets with one count each value by itself.'),
});
export type BucketsQuery = z.infer<typeof bucketsSchema>;

const countedIn = z
  .enum(['memory', 'redis', 'local'])
  .describe('memory: this gateway alone. redis: all gateways. local: this gateway, since Redis is away.');

const clientKeys = {
  address: z.string().nullable().describe('The address of the client, an IPv6 one as its /64.'),
  caller: z.string().nullable().describe('The pseudonym of the caller, as in the log.'),
};

const allowanceSchema = z.strictObject({
  bucket: z.string().nullable().describe('null: the global limit.'),
  counts: z
    .enum(['global', 'caller', 'resource'])
    .describe(
      'Which requests: all of the client, those to the bucket, or those of all clients for one value of its main parameter.',
    ),
  quota: z
    .string()
    .meta({ examples: ['20/5s'] })
    .describe('As in limits.yaml.'),
  algorithm: z.enum(['window', 'smooth']),
  shadow: z.boolean().describe('true: for this client it counts, but refuses nothing.'),
  limit: z.int().describe('Of the quota; while Redis is away, the share of this gateway.'),
  used: z.int(),
  remaining: z.int(),
  resetAt: moment().nullable().describe('When remaining will be limit again; null: it is.'),
  waitMs: z.int().describe('How long the next request has to wait for this limit; 0: it need not.'),
});
export type AllowanceShape = z.infer<typeof allowanceSchema>;

export const bucketsReadSchema = z
  .strictObject({
    countedIn,
    ...clientKeys,
    limits: z.array(allowanceSchema),
    needValue: z
      .array(z.string())
      .describe('Buckets that are not shown: they count each value by itself. Ask with bucket and value.'),
  })
  .describe('Address and caller are both null where what all clients share was asked for.');

export const bucketsResetSchema = z
  .strictObject({
    countedIn,
    ...clientKeys,
    global: z.boolean().describe('Whether the global limit was reset.'),
    buckets: z.array(z.string()).describe('The buckets that were reset.'),
  })
  .describe('Address and caller are both null where what all clients share was reset.');
