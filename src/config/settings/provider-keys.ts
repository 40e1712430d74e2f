import { z } from 'zod';
import { hasAnyPort } from '../../identity/signin/index.ts';
import {
  choice,
  count,
  duration,
  means,
  ownPath,
  pathOfFile,
  secret,
  text,
  unshown,
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
      const { error } = ownPath().safeParse(written);
      for (const { message } of error?.issues ?? []) context.addIssue({ code: 'custom', message });
    });
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

/** `notices` of a provider. */
const noticesSchema = z
  .strictObject(noticeKeys)
  .prefault({})
  .describe(
    'Where the provider can notify the gateway that tokens or sessions are revoked. Left out: notices are not accepted.',
  );

// `identity_provider` of gateway.yaml. read-provider.ts checks how the keys fit together, such as which client authentication
// needs which key.

/** Rejects spaces: `URL` strips them at both ends, but the issuer would be compared with them. */
const withoutBlanks = (error: string) =>
  unshown(text(error)).regex(/^\S*$/, { error: 'must not contain spaces or line breaks' });
const address = () => withoutBlanks('write an address such as https://id.example.com/token');
const QUOTES = 'in quotes if it is a number';

const redirectUri = () => {
  const error = 'expected an absolute URI such as https://app.example.com/callback';
  return text(error)
    .refine(uri => URL.canParse(uri), { error, abort: true })
    .refine(uri => !uri.includes('#'), { error: 'must not have a fragment (RFC 6749, 3.1.2)' });
};

/** An entry of `redirect_uris`, which may leave the port of loopback open. */
const listedUri = () => {
  const loopback = 'a port of * is for http://127.0.0.1 and http://[::1] alone (RFC 8252, 7.3)';
  return text('expected an absolute URI such as https://app.example.com/callback')
    .refine(uri => hasAnyPort(uri) || !/^[a-z][a-z0-9+.-]*:\/\/[^/?]*:\*/i.test(uri), {
      error: loopback,
      abort: true,
    })
    .superRefine((uri, context) => {
      const { error } = redirectUri().safeParse(hasAnyPort(uri) ? uri.replace('*', '1') : uri);
      for (const { message } of error?.issues ?? []) context.addIssue({ code: 'custom', message });
    });
};

/** Scopes (RFC 6749, 3.3). */
const scopes = () => {
  const error = 'expected scopes separated by single spaces, such as "openid profile"';
  return z.string({ error }).regex(/^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/, { error });
};

export const identityProviderSchema = z.strictObject({
  issuer: means(
    'door',
    withoutBlanks('write the issuer, an address such as https://id.example.com/realms/main'),
  ).describe(
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
      introspection: address()
        .optional()
        .describe(
          'Where the gateway asks whether a token is still valid, for routes with introspection and for opaque_tokens.',
        ),
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
    .describe('Timeout of one whole request to the provider, including name resolution.'),
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
    .strictObject(clientTlsKeys('a provider'))
    .prefault({})
    .describe('PEM files for https with the provider, relative to this file.'),
  redirect_uri: redirectUri()
    .optional()
    .describe(
      'Where the provider sends browsers back to: the default redirect_uri of the authorization URL. Left out: nobody signs in through the gateway, which only checks tokens.',
    ),
  redirect_uris: means(
    'door',
    z.union([z.literal('any'), z.array(listedUri())], {
      error: 'expected any, or a list of redirect URIs',
    }),
  )
    .transform(uris => (uris === 'any' ? null : uris))
    .prefault('any')
    .describe(
      'The redirect URIs whose codes are redeemed, in addition to redirect_uri; http://127.0.0.1:*/callback and http://[::1]:*/callback for native apps, which listen on any port. any: only the provider decides.',
    ),
  scope: scopes().prefault('openid').describe('The requested scopes, separated by spaces.'),
  notices: noticesSchema,
  max_in_flight: count(1_000_000)
    .prefault(100)
    .describe(
      'Maximum number of concurrent token requests to the provider, at most a quarter of them from one address; beyond either 503.',
    ),
});

export type IdentityProviderConfig = z.output<typeof identityProviderSchema>;

// `identity_providers` of gateway.yaml: the keys of `identity_provider` with a name, and the token rules that would otherwise be
// under `access_tokens`.

const NAME = 'expected a name of 1 to 63 letters, digits, ".", "_" or "-", such as main';

/** An entry of the list. */
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
