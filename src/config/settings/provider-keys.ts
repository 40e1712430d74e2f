import { z } from 'zod';
import { isTenantValue } from '../../core/index.ts';
import { hasAnyPort, RESERVED_PARAMETERS } from '../../identity/signin/index.ts';
import { nearestWord } from '../file/index.ts';
import {
  choice,
  count,
  duration,
  eachOnce,
  mapExpected,
  means,
  optionalFile,
  ownPath,
  secret,
  section,
  text,
  unshown,
  wordOr,
  yesOrNo,
} from '../values/index.ts';
import { tokenRules } from './access-tokens.ts';
import { clientTlsKeys } from './secret-files.ts';

const EXPECTED = 'expected admin, or a path of your choice on the public listeners that begins with "/"';

/** `admin`, or a path on the public listeners. */
function place() {
  return z
    .string({ error: EXPECTED })
    .regex(/^(?:admin$|\/)/, { error: EXPECTED, abort: true })
    .superRefine((written, context) => {
      if (written === 'admin') return;
      addIssuesOf(ownPath(), written, context);
    });
}

function addIssuesOf(schema: z.ZodType, written: string, context: z.RefinementCtx): void {
  for (const { message } of schema.safeParse(written).error?.issues ?? [])
    context.addIssue({ code: 'custom', message });
}

/** The keys of `notices`. sign-in-checks.ts uses them one by one, as the cross-checks do with the keys of a route. */
export const noticeKeys = {
  not_before_push: place()
    .optional()
    .describe(
      "Keycloak's not-before push. admin: POST /notices/k_push_not_before on the admin listener; or a public path that ends in /k_push_not_before.",
    ),
  back_channel_logout: place()
    .optional()
    .describe(
      'Logout tokens (OpenID Connect Back-Channel Logout). admin: POST /notices/back_channel_logout on the admin listener; or a public path.',
    ),
};

const noticesSchema = section(
  'Where the provider can notify the gateway that tokens or sessions are revoked. Left out: notices are not accepted.',
  noticeKeys,
);

// `identity_provider` of gateway.yaml. read-provider.ts checks how the keys fit together, such as which client authentication
// needs which key.

/** Rejects spaces: `URL` strips them at both ends, but the issuer would be compared with them. */
const withoutBlanks = (error: string) =>
  unshown(text(error)).regex(/^\S*$/, { error: 'must not contain spaces or line breaks' });
const address = () => withoutBlanks('write an address such as https://id.example.com/token').optional();
const QUOTES = 'in quotes if it is a number';

const redirectUri = () => {
  const error = 'expected an absolute URI such as https://app.example.com/callback';
  return text(error)
    .refine(uri => URL.canParse(uri), { error, abort: true })
    .refine(uri => !uri.includes('#'), { error: 'must not have a fragment (RFC 6749, 3.1.2)' });
};

const ASSERTION_WORDS = ['issuer', 'token_endpoint'];

function isAlmost(written: string, word: string): boolean {
  return written !== word && nearestWord(written, [word]) !== undefined;
}

/** An entry of `redirect_uris`: a URI, or one on loopback with `*` for any port. */
const listedUri = () => {
  const loopback = 'a port of * is for http://127.0.0.1 and http://[::1] alone (RFC 8252, 7.3)';
  return text('expected an absolute URI such as https://app.example.com/callback')
    .refine(uri => hasAnyPort(uri) || !/^[a-z][a-z0-9+.-]*:\/\/[^/?]*:\*/i.test(uri), {
      error: loopback,
      abort: true,
    })
    .superRefine((uri, context) => {
      addIssuesOf(redirectUri(), hasAnyPort(uri) ? uri.replace('*', '1') : uri, context);
    });
};

const tenantList = () => {
  const error = 'expected a value of 1 to 64 letters, digits, ".", "_" or "-", in quotes if it is a number';
  return z
    .array(z.string({ error }).refine(isTenantValue, { error }))
    .min(1, { error: 'an empty list accepts no token: list a tenant' })
    .superRefine(eachOnce);
};

const parameterName = () => {
  const error = 'expected the name of a parameter such as login_hint';
  return z
    .string({ error })
    .regex(/^[A-Za-z0-9._~-]+$/, { error, abort: true })
    .refine(name => !RESERVED_PARAMETERS.includes(name.toLowerCase()), {
      error:
        'is neither fixed nor for clients to choose: the gateway writes it, or clients add it to the URL themselves',
    });
};

const authorizationParameters = z
  .strictObject({
    fixed: z
      .record(
        parameterName(),
        text(`expected the value of the parameter, ${QUOTES}`),
        mapExpected('{ audience: "https://api.example.com" }'),
      )
      .prefault({})
      .describe(
        'Parameters that every URL has, by their names: audience for Auth0. resource is in token requests as well (RFC 8707).',
      ),
    allow: z
      .array(parameterName(), { error: 'expected a list of names such as [login_hint, ui_locales]' })
      .superRefine(eachOnce)
      .prefault([])
      .describe(
        'Parameters that clients may choose, as query parameters of /v1/anonymous/authorize-url: login_hint, ui_locales, prompt.',
      ),
  })
  .superRefine(({ fixed, allow }, context) => {
    for (const [index, name] of allow.entries())
      if (Object.hasOwn(fixed, name))
        context.addIssue({
          code: 'custom',
          path: ['allow', index],
          message: 'is fixed, so no client can choose it: remove it from one of the two',
        });
  })
  .prefault({})
  .describe('Further parameters of the authorization URL.');

/** Scopes (RFC 6749, 3.3). */
const scopes = () => {
  const error = 'expected scopes separated by single spaces, such as "openid profile"';
  return z.string({ error }).regex(/^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/, { error });
};

export const identityProviderSchema = z.strictObject({
  ...means('door', {
    issuer: withoutBlanks('write the issuer, an address such as https://id.example.com/realms/main').describe(
      'Its name exactly as in its tokens, with or without a trailing slash: tokens are compared with it.',
    ),
    issuer_values: z
      .union([z.literal('any'), tenantList()], { error: 'expected any, or a list of values' })
      .optional()
      .describe(
        'The tenants whose tokens are accepted, where the issuer has a claim of the token as a placeholder, {tid}: the values of that claim. any: all tenants, strangers as well. Needs discovery_url.',
      ),
  }),
  discovery_url: address().describe(
    'The address of its discovery document, if not {issuer}/.well-known/openid-configuration: for a provider with another name inside the cluster.',
  ),
  endpoints: section(
    'Addresses that override those in the discovery document. With the first three, the document is not read.',
    {
      authorization: address().describe('Where browsers go to sign in.'),
      token: address().describe('Where the gateway redeems authorization codes.'),
      introspection: address().describe(
        'Where the gateway asks whether a token is still valid, for routes with introspection and for opaque_tokens.',
      ),
      key_set: address().describe('Where the keys that sign tokens are (jwks_uri).'),
      revocation: address().describe(
        'Where the gateway revokes refresh tokens (RFC 7009), for sign_in.sign_out.',
      ),
      end_session: address().describe(
        'Where the gateway ends sessions, for sign_in.sign_out with "sign_out_ends: session".',
      ),
    },
  ),
  allow_http: yesOrNo(false).describe('Whether to allow plain http to a provider that is not on loopback.'),
  timeout: duration({ otherwise: '5s' }).describe(
    'Timeout of one whole request to the provider, including name resolution.',
  ),
  proxy: withoutBlanks('write the address of a proxy such as http://proxy.corp.example:3128, or environment')
    .optional()
    .describe(
      'A forward proxy for all that is asked of the provider, http:// or https://, a password only by a variable. environment: as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say. Left out: none.',
    ),
  client_id: text(`expected the id of the gateway at the provider, ${QUOTES}`)
    .optional()
    .describe(
      'The client id of the gateway at the provider. Required with redirect_uri, notices, a client authentication, where a route has introspection, and with opaque_tokens.',
    ),
  client_authentication: choice([
    'client_secret_basic',
    'client_secret_post',
    'private_key_jwt',
    'tls_client_auth',
    'none',
  ]).describe(
    'How the gateway authenticates as this client: with a secret in a header or in the body, an assertion signed with private_key_file, the certificate under tls, or not at all (a public client).',
  ),
  client_secret: secret('client_secret')
    .optional()
    .describe(`An environment variable that contains the secret, "\${OIDC_CLIENT_SECRET}".`),
  client_secret_file: optionalFile().describe(
    'Instead of client_secret: a file that contains the secret. Relative to this file.',
  ),
  private_key_file: optionalFile().describe(
    'The key of private_key_jwt, RSA or EC, unencrypted PEM. Relative to this file.',
  ),
  private_key_id: text('expected the id (kid) of the key')
    .optional()
    .describe('The id (kid) of the public key at the provider.'),
  client_assertion: z
    .strictObject({
      audience: withoutBlanks('expected issuer, token_endpoint, or the audience itself')
        .refine(written => !ASSERTION_WORDS.some(word => isAlmost(written, word)), {
          error:
            'is almost one of the words issuer and token_endpoint: write that word, or an audience of its own',
        })
        .prefault('issuer')
        .describe(
          'Its aud. issuer: the name of the provider. token_endpoint: the address of the endpoint that is asked, which Okta compares, and Entra ID. Or any other text.',
        ),
      certificate_file: optionalFile().describe(
        'The certificate of the key, PEM: its thumbprints (x5t, x5t#S256) name the key to Entra ID. Relative to this file.',
      ),
    })
    .optional()
    .describe('What the assertions of private_key_jwt say.'),
  tls: section('PEM files for https with the provider, relative to this file.', clientTlsKeys('a provider')),
  redirect_uri: redirectUri()
    .optional()
    .describe(
      'Where the provider sends browsers back to: the default redirect_uri of the authorization URL. Left out: nobody signs in through the gateway, which only checks tokens.',
    ),
  ...means('door', {
    redirect_uris: wordOr('any', z.array(listedUri()), 'expected any, or a list of redirect URIs')
      .prefault('any')
      .describe(
        'The redirect URIs whose codes are redeemed, in addition to redirect_uri; http://127.0.0.1:*/callback and http://[::1]:*/callback for native apps, which listen on any port. any: only the provider decides.',
      ),
  }),
  scope: scopes().prefault('openid').describe('The requested scopes, separated by spaces.'),
  authorization_parameters: authorizationParameters,
  notices: noticesSchema,
  max_in_flight: count(1_000_000, 100).describe(
    'Maximum number of concurrent token requests to the provider, at most a quarter of them from one address; beyond either 503.',
  ),
});

export type IdentityProviderConfig = z.output<typeof identityProviderSchema>;

// `identity_providers` of gateway.yaml: the keys of `identity_provider` with a name, and the token rules that would otherwise be
// under `access_tokens`.

const NAME = 'expected a name of 1 to 63 letters, digits, ".", "_" or "-", such as main';

export const providerEntrySchema = identityProviderSchema.extend({
  name: text(NAME)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, { error: NAME })
    // Metrics use `none` for tokens of no provider.
    .refine(name => name !== 'none', { error: 'no provider may be named none: metrics use that word' })
    .describe('The name of the provider in metrics, logs, limits.yaml and the admin API.'),
  redirect_uri: identityProviderSchema.shape.redirect_uri.describe(
    'Where the provider sends browsers back to. Only one provider may have it: users sign in there. Tokens of the other providers are only checked.',
  ),
  ...tokenRules,
});
