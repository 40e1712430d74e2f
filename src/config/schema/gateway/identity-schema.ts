import { z } from 'zod';

import { choice, count, pathOfFile, text, yesOrNo } from '../plain-values.ts';
import { duration, momentOrNone, token } from '../scalars/index.ts';
import { secret, unshown } from '../secrecy.ts';

// `identity_provider` and `access_tokens` of gateway.yaml. read-provider.ts checks how the keys fit together, such as which
// client authentication needs which key.

/** Rejects spaces: `URL` strips them at both ends, but the issuer would be compared with them. */
const withoutBlanks = (error: string) =>
  unshown(text(error)).regex(/^\S*$/, { error: 'must not contain spaces or line breaks' });
const address = () => withoutBlanks('write an address such as https://id.example.com/token');
const QUOTES = 'in quotes if it is a number';
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

const redirectUri = () => {
  const error = 'expected an absolute URI such as https://app.example.com/callback';
  return text(error)
    .refine(uri => URL.canParse(uri), { error, abort: true })
    .refine(uri => !uri.includes('#'), { error: 'must not have a fragment (RFC 6749, 3.1.2)' });
};

/** Scopes (RFC 6749, 3.3). */
const scopes = () => {
  const error = 'expected scopes separated by single spaces, such as "openid profile"';
  return z.string({ error }).regex(/^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/, { error });
};

export const identityProviderSchema = z.strictObject({
  issuer: withoutBlanks('write the issuer, an address such as https://id.example.com/realms/main').describe(
    'Its name exactly as in its tokens, with or without a trailing slash: tokens are compared with it.',
  ),
  discovery_url: address()
    .optional()
    .describe(
      'The address of its discovery document, if not {issuer}/.well-known/openid-configuration: for a provider with another name inside the cluster.',
    ),
  endpoints: z
    .strictObject({
      authorization: address().optional().describe('Where browsers go to sign in.'),
      token: address().optional().describe('Where the gateway redeems authorization codes.'),
      key_set: address().optional().describe('Where the keys that sign tokens are (jwks_uri).'),
      revocation: address()
        .optional()
        .describe('Where the gateway revokes refresh tokens (RFC 7009), for sign_in.sign_out.'),
      end_session: address()
        .optional()
        .describe('Where the gateway ends sessions, for sign_in.sign_out with "sign_out_ends: session".'),
    })
    .prefault({})
    .describe(
      'Addresses that override those in the discovery document. With the first three, the document is not read.',
    ),
  allow_http: yesOrNo()
    .prefault(false)
    .describe('Whether to allow plain http to a provider that is not on loopback.'),
  timeout: duration()
    .prefault('5s')
    .describe('For one whole request to the provider, name resolution included.'),
  client_id: text(`expected the id of the gateway at the provider, ${QUOTES}`).describe(
    'The client id of the gateway at the provider.',
  ),
  client_authentication: choice([
    'client_secret_basic',
    'client_secret_post',
    'private_key_jwt',
    'tls_client_auth',
    'none',
  ])
    .prefault('client_secret_basic')
    .describe(
      'How the gateway authenticates as this client: with a secret in a header or in the body, an assertion signed with private_key_file, the certificate under tls, or not at all (a public client).',
    ),
  client_secret: secret('client_secret')
    .optional()
    .describe(`An environment variable that contains the secret, "\${OIDC_CLIENT_SECRET}".`),
  client_secret_file: pathOfFile()
    .optional()
    .describe('Instead of client_secret: a file that contains the secret. Relative to this file.'),
  private_key_file: pathOfFile()
    .optional()
    .describe('The key of private_key_jwt, RSA or EC, unencrypted PEM. Relative to this file.'),
  private_key_id: text('expected the id (kid) of the key')
    .optional()
    .describe('The id (kid) of the public key at the provider.'),
  tls: z
    .strictObject({
      ca_file: pathOfFile().optional().describe('Certificates to trust instead of the usual authorities.'),
      certificate_file: pathOfFile()
        .optional()
        .describe("The gateway's own certificate, for a provider that asks for one."),
      key_file: pathOfFile().optional().describe('The key of that certificate, unencrypted.'),
    })
    .prefault({})
    .describe('PEM files for https with the provider, relative to this file.'),
  redirect_uri: redirectUri().describe(
    'Where the provider sends browsers back to: the default redirect_uri of the authorization URL.',
  ),
  redirect_uris: z
    .union([z.literal('any'), z.array(redirectUri())], {
      error: 'expected any, or a list of redirect URIs',
    })
    .transform(uris => (uris === 'any' ? null : uris))
    .prefault('any')
    .describe(
      'The redirect URIs whose codes are redeemed, in addition to redirect_uri. any: only the provider decides.',
    ),
  scope: scopes().prefault('openid').describe('The requested scopes, separated by spaces.'),
  max_in_flight: count(1_000_000)
    .prefault(100)
    .describe(
      'Maximum number of concurrent token requests to the provider, at most a quarter of them from one address; beyond either 503.',
    ),
});

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

export const accessTokensSchema = z.strictObject({
  audience: text(`expected the name of this API in the aud of its tokens, ${QUOTES}, or any`)
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
  not_before: momentOrNone()
    .prefault('none')
    .describe('Tokens issued before this moment are refused: 2026-01-31T12:00:00Z, or Unix seconds.'),
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
        .describe('Maximum number of valid tokens that are remembered, so that they are not checked again.'),
    })
    .prefault({})
    .describe('The cache of tokens.'),
});

export type IdentityProviderConfig = z.output<typeof identityProviderSchema>;
export type AccessTokensConfig = z.output<typeof accessTokensSchema>;
