import { z } from 'zod';

import { normalizeAddress } from '../../http/index.ts';
import { choice, count, text } from './plain-values.ts';
import { duration } from './scalars/index.ts';
import { secrecyOf } from './secrecy.ts';

// The one definition of the files of `weir test`, built like that of limits.yaml.

const CLAIMS = 'expected the values of the claims that identify the caller, such as [web, alice]';
const claims = () => z.array(text(CLAIMS), { error: CLAIMS }).min(1, { error: CLAIMS });

const caller = z
  .strictObject({
    user: claims()
      .optional()
      .describe('A user, by the claims of access_tokens.principal in their order: [web, alice].'),
    bot: claims().optional().describe('A bot, by the claims that identify bots: [reports].'),
    address: z
      .string({ error: 'expected an IP address' })
      .refine(address => normalizeAddress(address) !== null, { error: 'expected an IP address' })
      .optional()
      .describe('A caller without a valid token, by its address: 192.0.2.7.'),
  })
  .refine(who => Object.values(who).filter(value => value !== undefined).length === 1, {
    error: 'name exactly one caller: user, bot or address',
  });

const moment = () => duration({ min: '0ms', max: '24h' });
const units = () => z.int({ error: 'expected a whole number' }).min(0, { error: 'expected a whole number' });

const expectation = z
  .strictObject({
    outcome: choice(['admitted', 'global', 'bucket', 'resource'])
      .optional()
      .describe(
        'admitted, or which limit refuses: the global one, the quota of the caller in its bucket, or that of all callers together.',
      ),
    bucket: text('expected the name of a bucket, or none')
      .optional()
      .describe('The bucket that the request draws on, or none.'),
    limit: units().optional().describe('X-RateLimit-Limit.'),
    remaining: units().optional().describe('X-RateLimit-Remaining.'),
    reset_after: moment().optional().describe('X-RateLimit-Reset-After.'),
    retry_after: moment().optional().describe('How long a refused caller has to wait.'),
  })
  .describe('What is expected of the request: the outcome of each repetition, and the rest of the last one.');

const request = z
  .strictObject({
    at: moment()
      .optional()
      .describe('When it comes, since the test began. Left out: at once after the one above.'),
    by: caller.describe('Who sends it.'),
    send: z
      .string({ error: 'expected a method and a path such as GET /v1/things/7' })
      .regex(/^[A-Z]+ \/\S*$/, { error: 'expected a method and a path such as GET /v1/things/7' })
      .describe('Method and path: GET /v1/things/7; of a gRPC call: GRPC /package.Service/Method.'),
    repeat: count(100_000).prefault(1).describe('How often it is sent.'),
    every: moment().prefault('0ms').describe('The time from one repetition to the next.'),
    expect: expectation,
  })
  .describe('A request, or several alike.');

/** The shape of a file of `weir test`. */
export const testSchema = z.strictObject({
  limits: text('expected the path of a limits.yaml')
    .prefault('limits.yaml')
    .describe('The limits to test: a limits.yaml or a folder of such files, relative to this file.'),
  tests: z
    .array(
      z.strictObject({
        name: text('expected a sentence').describe('What is true if the test passes.'),
        requests: z
          .array(request, { error: 'expected a list of requests' })
          .describe('In the order of time.'),
      }),
      { error: 'expected a list of tests' },
    )
    .describe('The tests. Each begins with empty counters.'),
});

export const testSecrecy = secrecyOf(testSchema);

/** A file of `weir test` with all defaults: times in milliseconds. */
export type TestConfig = z.output<typeof testSchema>;
export type TestedRequest = TestConfig['tests'][number]['requests'][number];
