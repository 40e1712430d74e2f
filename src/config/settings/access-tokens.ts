import { z } from 'zod';
import { CALLER_CLASSES } from '../../core/index.ts';
import {
  callerEntry,
  countByMemory,
  duration,
  durationOrOff,
  eachOnce,
  fieldName,
  httpToken,
  mapExpected,
  mapOf,
  means,
  momentOrNone,
  name,
  section,
  size,
  text,
  wordOr,
} from '../values/index.ts';
import { dpop } from './dpop.ts';

// `access_tokens` of gateway.yaml, and the same keys of each of several providers.

const claim = () =>
  text('expected the name of a claim such as sub').refine(name => !/^\/.*~(?![01])/s.test(name), {
    error: 'is no JSON Pointer: "~" is written ~0 and "/" inside a name ~1 (RFC 6901)',
  });
const claims = () =>
  z
    .array(claim(), { error: 'expected a list of claims such as [azp, sub]' })
    .min(1, { error: 'an empty list cannot distinguish callers: name at least one claim' })
    .superRefine(eachOnce)
    .refine(list => !list.some(name => OF_ONE_TOKEN.has(name.replace(/^\//, ''))), {
      error: `${[...OF_ONE_TOKEN].join(', ')} change with every token: use claims that stay the same for a caller`,
    });

/** Claims that differ between two tokens of one caller (RFC 7519, 4.1). */
const OF_ONE_TOKEN = new Set(['exp', 'nbf', 'iat', 'jti']);

export const AUDIENCE_EXPECTED =
  'expected the name of this API in the aud of its tokens, in quotes if it is a number, or any';

/** `any`, read as null, or one name or several. */
const audience = () =>
  z
    .union([text(AUDIENCE_EXPECTED), z.array(text(AUDIENCE_EXPECTED))], { error: AUDIENCE_EXPECTED })
    .transform(written => (written === 'any' ? null : [written].flat()))
    .refine(names => names === null || names.length > 0, {
      error: 'an empty list lets nobody in: name at least one audience',
    })
    .refine(names => names === null || !names.includes('any'), {
      error: 'any stands alone: audience: any',
    })
    .superRefine((names, context) => eachOnce(names ?? [], context));

const claimValue = () =>
  z
    .union([z.string(), z.number(), z.boolean()], { error: 'expected text, a number, true or false' })
    .transform(value => String(value))
    .optional()
    .describe(
      'The value that the claim must equal, or contain if it is a list. Left out: the claim only has to be present.',
    );

const TOKEN_KIND =
  'expected access, access_or_id, or a claim that access tokens have and ID tokens lack, such as { claim: uid }';

/** A claim by which the providers' own words for the kind of a token are known, so that none needs to be named. */
const SAYS_KIND = new Set(['typ', 'token_use', 'at_hash', 'events']);

const tokenKind = () =>
  z.union(
    [
      z.enum(['access', 'access_or_id']),
      z.strictObject({
        claim: claim()
          .refine(name => !SAYS_KIND.has(name), {
            error: `is judged anyway, as ${[...SAYS_KIND].join(', ')} are: name another claim, or leave token_kind out`,
          })
          .describe('The claim that access tokens have and ID tokens lack.'),
        value: claimValue(),
      }),
    ],
    { error: TOKEN_KIND },
  );

const botRule = z.strictObject({
  claim: claim().describe('The claim that marks the tokens of bots.'),
  value: claimValue(),
  principal: claims().prefault(['azp']).describe('The claims that together identify a bot.'),
});

/** Maximum classes, of all providers together: each is a metrics label value, for every bucket. */
export const MAX_CLASSES = 8;

const classRule = mapOf('{ claim: plan, value: partner }', {
  claim: claim().optional().describe('The claim that marks the tokens of the class.'),
  value: claimValue(),
  callers: z
    .array(callerEntry(), { error: 'expected a list such as [{ client: web, subject: alice }]' })
    .min(1, { error: 'an empty list names nobody: name a caller, or leave it out' })
    .optional()
    .describe('Bots and users of the class, by each claim that identifies them.'),
})
  .refine(({ claim, callers }) => (claim ?? callers) !== undefined, {
    error: 'nobody belongs to it: write the claim of its tokens, or a list of callers',
  })
  .refine(({ claim, value }) => claim !== undefined || value === undefined, {
    error: 'a value needs its claim: { claim: plan, value: partner }',
    path: ['value'],
  });

const opaqueTokens = z
  .strictObject({
    cache: duration({ min: '1s', max: '10m', otherwise: '30s' }).describe(
      'How long an answer of the provider is used: a revoked token is refused that much later at most. Negative answers: a tenth of it, at least 1s. The shorter cache of a route with introspection wins.',
    ),
  })
  .transform(({ cache }) => ({ cacheMs: cache }));

/** Words for classes that are always there. */
const TAKEN_CLASSES: ReadonlySet<string> = new Set([...CALLER_CLASSES, 'group', 'resource']);

/** A class, in limits.yaml the key of a map. Its name is a label value, next to those of the three built-in classes. */
export function className() {
  return name()
    .refine(word => !TAKEN_CLASSES.has(word), {
      error: 'has a meaning of its own in limits.yaml and in metrics: choose another name',
    })
    .refine(word => !/^\d+$/.test(word), {
      error: 'is a number, which has no place in the order of the file: add a letter',
    });
}

/** When a token is accepted, and how it identifies the caller: under `access_tokens`, or at each of several providers. */
export const tokenRules = {
  ...means('door', {
    audience: audience().describe(
      'The name of this API in the aud of tokens, or a list of names of which one has to be there. any: tokens for any audience are accepted.',
    ),
    audience_claim: claim()
      .prefault('aud')
      .describe(
        'The claim with the audience: client_id for Amazon Cognito, whose access tokens have no aud.',
      ),
    token_kind: tokenKind()
      .prefault('access')
      .describe(
        'What tells an access token from an ID token. access: what standards, Keycloak and Amazon Cognito write into it, else its audience. { claim: uid }: a claim of access tokens alone, if the provider writes no such mark. access_or_id: nothing, as at Dex, so ID tokens for this audience are accepted as well.',
      ),
    principal: claims()
      .prefault(['azp', 'sub'])
      .describe('The claims that together identify a user. A token without them is invalid.'),
  }),
  ...means('byClass', {
    bots: wordOr('none', botRule, 'expected the word none, or a map such as { claim: client_id }')
      .prefault('none')
      .describe('Which callers are bots. none: every caller is a user.'),
    classes: z
      .record(className(), classRule, mapExpected('{ partner: { claim: plan, value: partner } }'))
      .refine(classes => Object.keys(classes).length <= MAX_CLASSES, {
        error: `at most ${MAX_CLASSES} classes: each multiplies the series of metrics`,
      })
      .prefault({})
      .describe(
        'Classes of callers with numbers of their own in limits.yaml, by name. The first that fits counts, before bots; the caller stays the same without it.',
      ),
  }),
  ...means('door', {
    opaque_tokens: wordOr('off', opaqueTokens, 'expected off, or a map such as { cache: 30s }')
      .prefault('off')
      .describe(
        'Whether tokens that are no JWT, or an encrypted one, are accepted: the gateway asks this provider about them (RFC 7662). Only one provider may have it. off: they are invalid.',
      ),
    not_before: momentOrNone()
      .prefault('none')
      .describe('Tokens issued before this moment are refused: 2026-01-31T12:00:00Z, or Unix seconds.'),
  }),
};

export const accessTokensSchema = z.strictObject({
  ...tokenRules,
  // Required with `identity_provider`, and an error with `identity_providers`: see check/identity-checks.ts.
  audience: tokenRules.audience.optional(),
  identity_headers: z
    .record(fieldName('X-Auth-Subject'), claim())
    .prefault({})
    .describe(
      'Header fields that tell upstreams who the caller is, each with its claim. Clients cannot send them.',
    ),
  ...means('door', {
    roles: z
      .array(claim(), { error: 'expected a list of claims such as [groups]' })
      .superRefine(eachOnce)
      .prefault([])
      .describe(
        'Further claims that list roles, for "require" of routes: a text, a list of texts, or an object, whose keys are the roles. Those of Keycloak (realm_access, resource_access) are known.',
      ),
    certificate_field: fieldName('Client-Cert')
      .optional()
      .describe(
        "The header field in which trusted proxies send the client's certificate, for tokens that are bound to one (RFC 8705): as in RFC 9440, or as nginx, Envoy or HAProxy write it. Left out: only the certificate of the connection counts.",
      ),
    dpop,
    schemes: z
      .array(httpToken('expected a scheme such as Bearer or Bot'), {
        error: 'expected a list of schemes such as [Bearer, Bot]',
      })
      .refine(list => list.some(word => word.toLowerCase() === 'bearer'), {
        error: 'Bearer must be among them: it is the scheme of every standard client',
      })
      .superRefine((list, context) => {
        const words = list.map(word => word.toLowerCase());
        const message = 'is listed twice (case does not matter)';
        for (const [index, word] of words.entries())
          if (words.indexOf(word) < index) context.addIssue({ code: 'custom', path: [index], message });
      })
      .prefault(['Bearer'])
      .describe('Accepted authorization schemes. Upstreams always get Bearer.'),
  }),
  max_length: size({ min: '1KiB', max: '1MiB', otherwise: '16KiB' }).describe(
    'Longest accepted token, at most caps.head. A longer one is invalid (too_long), and its client is told why.',
  ),
  leeway: duration({ min: '0s', max: '10m', otherwise: '30s' }).describe(
    "How far the provider's clock may differ from this one.",
  ),
  max_lifetime: durationOrOff({ min: '1s', max: '8760h', otherwise: 'off' }).describe(
    'Tokens that live longer, from iat to exp, are refused. If set, revocations are kept no longer than this.',
  ),
  key_set: section("How the provider's keys are kept.", {
    refresh: duration({ min: '1s', otherwise: '10m' }).describe('Time between two fetches of the keys.'),
    cooldown: duration({ otherwise: '5s' }).describe(
      'Minimum time between two fetches caused by tokens with unknown keys.',
    ),
  }),
  cache: section('The cache of tokens.', {
    tokens: countByMemory(
      1_000_000,
      50_000,
      'Maximum number of valid tokens of one provider that are remembered, so that they are not checked again.',
    ),
  }),
});

export type AccessTokensConfig = z.output<typeof accessTokensSchema>;
