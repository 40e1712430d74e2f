import { z } from 'zod';
import { ForwardingRules, foldName } from '../../../wire/http/index.ts';
import { duration, fieldNames, httpToken, means, yesOrNo } from '../../values/index.ts';

const NAME =
  'expected the name of a header field such as X-Real-IP, or the beginning of several such as X-Corp-*';

/** Fields that cannot be listed, because the gateway needs them to interpret requests. */
const READ_OF_EVERY_REQUEST = new Set([
  'authorization',
  'connection',
  'content-length',
  'expect',
  'host',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-request-id',
]);

/** The name of a field that only trusted proxies may send, or of several. */
function removed() {
  return fieldNames(NAME).refine(name => !READ_OF_EVERY_REQUEST.has(foldName(name)), {
    error: 'the gateway reads this field in every request: remove it from the list',
  });
}

/** The rules for header fields that apply in every configuration. */
export const RULES_BY_DEFAULT = new ForwardingRules({ own: ['via'] }).table;

/** The name of a field that anyone may send, or of several. */
function kept() {
  return fieldNames(NAME).refine(
    name => [undefined, 'origin', 'forwarded', 'caller', 'internal'].includes(RULES_BY_DEFAULT.get(name)),
    {
      error: 'the gateway always writes or removes this field, so it cannot be kept: remove it from the list',
    },
  );
}

const both = z.strictObject({
  remove: z
    .array(removed())
    .prefault([])
    .describe(
      'Additional header fields that only trusted proxies may send, in this spelling; from anyone else they are removed. X-Corp-* means all that begin with X-Corp-.',
    ),
  keep: z
    .array(kept())
    .prefault([])
    .describe(
      'Header fields that would otherwise be removed but that anyone may send, because your services use them with another meaning. X-Consumer-* means all that begin with X-Consumer-.',
    ),
});

/** `forwarding_headers` of gateway.yaml: a list says what to remove. */
export const forwardingHeadersSchema = z
  .union([z.array(removed()).transform(remove => ({ remove, keep: [] as string[] })), both], {
    error: 'expected a list of header fields such as [X-Tenant], or a map such as { keep: [X-Host] }',
  })
  .prefault({});

/** An origin as browsers write it (RFC 6454, 6.2): a scheme, a host in lower case and a port that is not the default. */
function origin() {
  const error = 'expected an origin such as https://app.example.com, in lower case and without a path';
  return z
    .string({ error })
    .regex(/^[a-z][a-z0-9+.-]*:\/\/(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/, { error, abort: true })
    .refine(text => !/^(http:.*:80|https:.*:443)$/.test(text), {
      error: 'browsers leave out the default port: write the origin without it',
    });
}

const rules = z
  .strictObject({
    origins: means(
      'door',
      z.union(
        [
          z.literal('any'),
          z.array(origin()).min(1, { error: 'an empty list allows no page: leave out "cors" instead' }),
        ],
        { error: 'expected any, or a list of origins such as [https://app.example.com]' },
      ),
    )
      .transform(list => (list === 'any' ? null : list))
      .describe('The origins whose pages may call: a list such as [https://app.example.com], or any.'),
    allow_headers: z
      .union(
        [z.literal('any'), z.array(httpToken('expected the name of a header field such as Authorization'))],
        {
          error: 'expected any, or a list of header fields such as [Authorization, Content-Type]',
        },
      )
      .transform(list => (list === 'any' ? null : list))
      .prefault('any')
      .describe('Header fields that pages may send, Authorization included; or any.'),
    credentials: yesOrNo()
      .prefault(false)
      .describe(
        'Whether browsers may send cookies. Not allowed with "origins: any"; bearer tokens do not need it.',
      ),
    max_age: duration({ min: '0s' })
      .prefault('1h')
      .describe('How long a browser may cache the response to a preflight.'),
  })
  .refine(({ origins, credentials }) => origins !== null || !credentials, {
    path: ['credentials'],
    // `forwarding_headers` of gateway.yaml: the lists of fields to remove and to keep.
    error:
      'list the origins when credentials is true: with "any", every web page could act on behalf of its visitors',
  });

/** `cors` of gateway.yaml. */
export const corsSchema = z
  .union([z.literal('off'), rules], {
    error: 'expected off, or a map such as { origins: [https://app.example.com] }',
  })
  .prefault('off');

export type CorsConfig = z.output<typeof corsSchema>;
