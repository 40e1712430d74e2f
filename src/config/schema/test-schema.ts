import { z } from 'zod';
import { normalizeAddress } from '../../wire/http/index.ts';
import {
  count,
  dateTime,
  duration,
  httpToken,
  mapExpected,
  secrecyOf,
  text,
  wholeNumber,
  word,
} from '../values/index.ts';

// The one definition of `weir test` files, built like that of limits.yaml.

const CLAIMS = 'expected the values of the claims that identify the caller, such as [web, alice]';
const claims = () => z.array(text(CLAIMS), { error: CLAIMS }).min(1, { error: CLAIMS });

const WHO = 'name one caller: user, bot or address';

const caller = z
  .strictObject({
    user: claims()
      .optional()
      .describe('A user, by the claims of access_tokens.principal in their order: [web, alice].'),
    bot: claims().optional().describe('A bot, by the claims that identify bots: [reports].'),
    claims: z
      .record(text('expected the name of a claim'), z.unknown(), mapExpected('{ scope: orders.read }'))
      .prefault({})
      .describe(
        'Further claims of its token, as in the JSON of a token: { scope: orders.read, realm_access: { roles: [clerk] } }. Without a gateway.yaml the claim "class" is the class of limits.yaml that it belongs to.',
      ),
    provider: text('expected the name of a provider')
      .optional()
      .describe(
        'The provider of its token, if there are several identity_providers. Left out: the first one.',
      ),
    address: z
      .string({ error: 'expected an IP address' })
      .refine(address => normalizeAddress(address) !== null, { error: 'expected an IP address' })
      .optional()
      .describe(
        'The address that it comes from: 192.0.2.7. Alone: a caller without a token. Left out: an address of its own.',
      ),
  })
  .refine(({ user, bot, address }) => (user ?? bot ?? address) !== undefined, { error: WHO })
  .refine(({ user, bot }) => user === undefined || bot === undefined, { error: WHO });

const SEND = 'expected a method and a path such as GET /v1/things/7';
const STATUS = 'expected a status such as 404';
/** Up to the end of the month after the one in which a test begins. */
const moment = () => duration({ min: '0ms', max: '1488h' });
const units = () => z.int({ error: 'expected a whole number' }).min(0, { error: 'expected a whole number' });

const outcome = word([
  'admitted',
  'global',
  'bucket',
  'group',
  'resource',
  'concurrent',
  'restricted',
  'blocked',
  'refused',
]);
const SHADOW = ['global', 'bucket', 'group', 'resource', 'concurrent'] as const;
const shadow = z
  .union([word([...SHADOW, 'none']), z.array(word(SHADOW)).min(1)], {
    error: `expected ${SHADOW.join(', ')}, a list of them, or none`,
  })
  .transform(words => (typeof words === 'string' ? [words] : words));
const headerValue = z
  .union([z.string(), z.number(), z.boolean()], { error: 'expected the value of the header, or none' })
  .transform(String);

const expectation = z
  .strictObject({
    outcome: outcome
      .optional()
      .describe(
        'admitted, or what refuses: the global limit, the quota of the caller in its bucket, that of its group, that of all callers together (resource), too many requests of the caller in flight (concurrent), a restriction, the list "blocked", or anything else, such as a missing token or route (refused).',
      ),
    status: wholeNumber(100, 599, STATUS).optional().describe('The status of the response.'),
    bucket: text('expected the name of a bucket, or none')
      .optional()
      .describe('The bucket that the request uses, or none.'),
    limit: units().optional().describe('X-RateLimit-Limit.'),
    remaining: units().optional().describe('X-RateLimit-Remaining.'),
    reset_after: moment().optional().describe('X-RateLimit-Reset-After.'),
    retry_after: moment().optional().describe('How long a refused caller has to wait.'),
    shadow: shadow
      .optional()
      .describe(
        'What would have refused an admitted request if it were not in shadow, or held for every caller (enforce): limits as in "outcome". One, a list of all of them, or none.',
      ),
    headers: z
      .record(z.string(), headerValue, mapExpected('{ Retry-After: 4 }'))
      .prefault({})
      .describe('Exact values of headers that the gateway writes; none: it does not write this one.'),
  })
  .describe('What is expected of the request: the outcome of each repetition, and the rest of the last one.');

const FIELD = 'expected the value of a header field';
const fieldsExpected = mapExpected('{ X-Usage: 250 }');
const FRAMING: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'trailer',
  'transfer-encoding',
]);

/** Fields of a service's response, by name. */
function answeredFields() {
  const fieldName = httpToken('expected the name of a header field such as X-Usage').refine(
    name => !FRAMING.has(name.toLowerCase()),
    { error: 'is not for tests: services answer without a body. Leave it out' },
  );
  const value = z
    .union([z.string(), z.number(), z.boolean()], { error: FIELD })
    .transform(String)
    .refine(text => /^[\x20-\x7e]*$/.test(text), { error: FIELD });
  return z.record(fieldName, value, fieldsExpected).prefault({});
}

/** Statuses whose responses reach the client without the body of the service. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304, 429]);

const ANSWER = `${STATUS}, or a map such as { headers: { X-Usage: 250 } }`;
const answerStatus = () => wholeNumber(200, 599, ANSWER);
const noFields = { headers: {}, trailers: {} };
const answer = z
  .union(
    [
      answerStatus().transform(status => ({ status, ...noFields })),
      z.strictObject({
        status: wholeNumber(200, 599, STATUS).prefault(200).describe('The status.'),
        headers: answeredFields().describe(
          'Fields of its head, such as the price of the request: { X-Usage: 250 }. grpc-status is the status of a gRPC call, 0 by default.',
        ),
        trailers: answeredFields().describe(
          'Fields after its end, which comes when the request is no longer in flight ("takes").',
        ),
      }),
    ],
    { error: ANSWER },
  )
  .refine(({ status, trailers }) => !WITHOUT_BODY.has(status) || Object.keys(trailers).length === 0, {
    path: ['trailers'],
    error: 'clients get no body of such a response, so it has no trailers: write headers',
  });

const request = z
  .strictObject({
    at: moment()
      .optional()
      .describe(
        'When it is sent, since the start of the test. Left out: immediately after the previous one.',
      ),
    by: caller.describe('Who sends it.'),
    send: z
      .string({ error: SEND })
      .regex(/^[A-Z]+ (?:https?:\/\/[^\s/?#]+)?\/\S*$/, { error: SEND })
      .describe(
        'Method and path: GET /v1/things/7; of a gRPC call: GRPC /package.Service/Method. To a host: GET https://api.example.com/v1/things/7.',
      ),
    repeat: count(100_000, 1).describe('How often it is sent.'),
    every: moment().prefault('0ms').describe('The time from one repetition to the next.'),
    answer: answer
      .prefault(200)
      .describe(
        'What the service answers if the request is admitted: a status, or a map with fields as well.',
      ),
    takes: moment()
      .prefault('0ms')
      .describe('How long it is in flight, which matters to buckets with "concurrent".'),
    expect: expectation,
  })
  .describe('A request, or several alike.');

/** The shape of a file of `weir test`. */
export const testSchema = z.strictObject({
  gateway: text('expected the path of a gateway.yaml')
    .optional()
    .describe(
      'A gateway.yaml, relative to this file: its routes and policies count, too. Left out: every path leads to a service, with a token or without.',
    ),
  limits: text('expected the path of a limits.yaml')
    .optional()
    .describe(
      'The limits to test: a limits.yaml or a folder of such files, relative to this file. Left out: those that gateway.yaml names, or limits.yaml.',
    ),
  tests: z
    .array(
      z.strictObject({
        name: text('expected a sentence').describe(
          'The name of the test: a sentence that is true if it passes.',
        ),
        starts: dateTime('2026-10-25T00:30:00Z')
          .prefault('2027-01-15T08:00:00Z')
          .describe(
            'When the test begins, which matters to quotas of a day, week or month: 2026-10-25T00:30:00Z, or with +02:00 in place of the Z.',
          ),
        requests: z
          .array(request, { error: 'expected a list of requests' })
          .describe('The requests of the test, in order of time.'),
      }),
      { error: 'expected a list of tests' },
    )
    .describe('The tests. Each begins with empty counters.'),
});

export const testSecrecy = secrecyOf(testSchema);

/** A file of `weir test` with all defaults: times in milliseconds. */
export type TestConfig = z.output<typeof testSchema>;
export type ExpectedOutcome = z.output<typeof outcome>;
export type TestedRequest = TestConfig['tests'][number]['requests'][number];
