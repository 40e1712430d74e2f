import { z } from 'zod';
import { count, duration, durationOrOff, momentOrNone, text, token } from '../../values/index.ts';

// `access_tokens` of gateway.yaml, and what each of several providers says in its place.

const claim = () => text('expected the name of a claim such as sub');
const claims = () =>
  z
    .array(claim(), { error: 'expected a list of claims such as [azp, sub]' })
    .min(1, { error: 'an empty list cannot tell callers apart: name at least one claim' })
    .refine(list => new Set(list).size === list.length, { error: 'a claim is listed twice' })
    .refine(list => !list.some(name => OF_ONE_TOKEN.has(name)), {
      error: `${[...OF_ONE_TOKEN].join(', ')} change with every token: use claims that stay the same for a caller`,
    });

/** Claims that differ between two tokens of one caller (RFC 7519, 4.1). */
const OF_ONE_TOKEN = new Set(['exp', 'nbf', 'iat', 'jti']);

/** What `audience` has to be. */
export const AUDIENCE =
  'expected the name of this API in the aud of its tokens, in quotes if it is a number, or any';

const botRule = z.strictObject({
  claim: claim().describe('The claim that marks the tokens of bots.'),
  value: z
    .union([z.string(), z.number(), z.boolean()], { error: 'expected text, a number, true or false' })
    .transform(value => String(value))
    .optional()
    .describe(
      'The value that the claim must equal, or contain if it is a list. Left out: the claim only has to be present.',
    ),
  principal: claims().prefault(['azp']).describe('The claims that together identify a bot.'),
});

/** What a token must be like to be accepted, and whom it then names: under `access_tokens`, or at each of several providers. */
export const tokenRules = {
  audience: text(AUDIENCE)
    .transform(name => (name === 'any' ? null : name))
    .describe('The name of this API in the aud of tokens. any: tokens for any audience are accepted.'),
  principal: claims()
    .prefault(['azp', 'sub'])
    .describe('The claims that together identify a user. A token without them is invalid.'),
  bots: z
    .union([z.literal('none'), botRule], { error: 'expected none, or a map such as { claim: client_id }' })
    .transform(rule => (rule === 'none' ? null : rule))
    .prefault('none')
    .describe('Which callers are bots. none: every caller is a user.'),
  not_before: momentOrNone()
    .prefault('none')
    .describe('Tokens issued before this moment are refused: 2026-01-31T12:00:00Z, or Unix seconds.'),
};

export const accessTokensSchema = z.strictObject({
  ...tokenRules,
  // Required with `identity_provider`, and an error with `identity_providers`: see identity-checks.ts.
  audience: tokenRules.audience.optional(),
  identity_headers: z
    .record(token('is not a header field name: use letters, digits and "-", such as X-Auth-Subject'), claim())
    .prefault({})
    .describe('Header fields that tell upstreams who calls, each with its claim. Clients cannot send them.'),
  schemes: z
    .array(token('expected a scheme such as Bearer or Bot'), {
      error: 'expected a list of schemes such as [Bearer, Bot]',
    })
    .refine(list => list.some(word => word.toLowerCase() === 'bearer'), {
      error: 'Bearer must be among them: it is the scheme of every standard client',
    })
    .refine(list => new Set(list.map(word => word.toLowerCase())).size === list.length, {
      error: 'a scheme is listed twice (case does not matter)',
    })
    .prefault(['Bearer'])
    .describe('Accepted authorization schemes. Upstreams always get Bearer.'),
  leeway: duration({ min: '0s', max: '10m' })
    .prefault('30s')
    .describe("How far the provider's clock may differ from this one."),
  max_lifetime: durationOrOff({ min: '1s', max: '8760h' })
    .prefault('off')
    .describe(
      'Tokens that live longer, from iat to exp, are refused. Set, it also says how long revocations have to be kept.',
    ),
  key_set: z
    .strictObject({
      refresh: duration({ min: '1s' }).prefault('10m').describe('Time between two fetches of the keys.'),
      cooldown: duration()
        .prefault('5s')
        .describe('How long after a fetch unknown keys cause no other fetch.'),
    })
    .prefault({})
    .describe("How the provider's keys are kept."),
  cache: z
    .strictObject({
      tokens: count(1_000_000)
        .prefault(50_000)
        .describe(
          'Maximum number of valid tokens of one provider that are remembered, so that they are not checked again.',
        ),
    })
    .prefault({})
    .describe('The cache of tokens.'),
});

export type AccessTokensConfig = z.output<typeof accessTokensSchema>;
