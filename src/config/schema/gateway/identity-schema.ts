import { z } from 'zod';
import { CALLER_CLASSES } from '../../../core/index.ts';
import { hasAnyPort } from '../../../identity/signin/index.ts';
import {
  BY_MEMORY,
  byMemory,
  callerEntry,
  choice,
  count,
  doorAsWhole,
  duration,
  durationOrOff,
  httpToken,
  mapExpected,
  means,
  momentOrNone,
  name,
  ownPath,
  pathOfFile,
  secret,
  size,
  text,
  unshown,
  yesOrNo,
} from '../../values/index.ts';
import { clientTlsKeys } from './listen-schema.ts';

// `access_tokens` of gateway.yaml, and the same keys of each of several providers.

const claim = () =>
  text('expected the name of a claim such as sub').refine(name => !/^\/.*~(?![01])/s.test(name), {
    error: 'is no JSON Pointer: "~" is written ~0 and "/" inside a name ~1 (RFC 6901)',
  });
const claims = () =>
  z
    .array(claim(), { error: 'expected a list of claims such as [azp, sub]' })
    .min(1, { error: 'an empty list cannot distinguish callers: name at least one claim' })
    .refine(list => new Set(list).size === list.length, { error: 'a claim is listed twice' })
    .refine(list => !list.some(name => OF_ONE_TOKEN.has(name.replace(/^\//, ''))), {
      error: `${[...OF_ONE_TOKEN].join(', ')} change with every token: use claims that stay the same for a caller`,
    });

/** Claims that differ between two tokens of one caller (RFC 7519, 4.1). */
const OF_ONE_TOKEN = new Set(['exp', 'nbf', 'iat', 'jti']);

/** The message about `audience`. */
export const AUDIENCE =
  'expected the name of this API in the aud of its tokens, in quotes if it is a number, or any';

/** `any`, read as null, or one name or several. */
const audience = () =>
  z
    .union([text(AUDIENCE), z.array(text(AUDIENCE))], { error: AUDIENCE })
    .transform(written => (written === 'any' ? null : [written].flat()))
    .refine(names => names === null || names.length > 0, {
      error: 'an empty list lets nobody in: name at least one audience',
    })
    .refine(names => names === null || !names.includes('any'), {
      error: 'any stands alone: audience: any',
    })
    .refine(names => names === null || new Set(names).size === names.length, {
      error: 'an audience is listed twice',
    });

const claimValue = () =>
  z
    .union([z.string(), z.number(), z.boolean()], { error: 'expected text, a number, true or false' })
    .transform(value => String(value))
    .optional()
    .describe(
      'The value that the claim must equal, or contain if it is a list. Left out: the claim only has to be present.',
    );

const botRule = z.strictObject({
  claim: claim().describe('The claim that marks the tokens of bots.'),
  value: claimValue(),
  principal: claims().prefault(['azp']).describe('The claims that together identify a bot.'),
});

/** Maximum classes: each is a metrics label value, for every bucket. */
const MAX_CLASSES = 8;

const classRule = z
  .strictObject(
    {
      claim: claim().optional().describe('The claim that marks the tokens of the class.'),
      value: claimValue(),
      callers: z
        .array(callerEntry(), { error: 'expected a list such as [{ client: web, subject: alice }]' })
        .min(1, { error: 'an empty list names nobody: name a caller, or leave it out' })
        .optional()
        .describe('Bots and users of the class, by each claim that identifies them.'),
    },
    mapExpected('{ claim: plan, value: partner }'),
  )
  .refine(({ claim, callers }) => (claim ?? callers) !== undefined, {
    error: 'nobody belongs to it: write the claim of its tokens, or a list of callers',
  })
  .refine(({ claim, value }) => claim !== undefined || value === undefined, {
    error: 'a value needs its claim: { claim: plan, value: partner }',
    path: ['value'],
  });

const TAKEN: ReadonlySet<string> = new Set([...CALLER_CLASSES, 'group', 'resource']);

/** A class as the key of a map. Its name is a label value, next to those of the three built-in classes. */
function className() {
  return name()
    .refine(word => !TAKEN.has(word), {
      error: 'has a meaning of its own in limits.yaml and in metrics: choose another name',
    })
    .refine(word => !/^\d+$/.test(word), {
      error: 'is a number, which has no place in the order of the file: add a letter',
    });
}

/** When a token is accepted, and how it identifies the caller: under `access_tokens`, or at each of several providers. */
export const tokenRules = {
  audience: means('door', audience()).describe(
    'The name of this API in the aud of tokens, or a list of names of which one has to be there. any: tokens for any audience are accepted.',
  ),
  audience_claim: means('door', claim())
    .prefault('aud')
    .describe('The claim with the audience: client_id for Amazon Cognito, whose access tokens have no aud.'),
  principal: means('door', claims())
    .prefault(['azp', 'sub'])
    .describe('The claims that together identify a user. A token without them is invalid.'),
  bots: z
    .union([z.literal('none'), botRule], {
      error: 'expected the word none, or a map such as { claim: client_id }',
    })
    .transform(rule => (rule === 'none' ? null : rule))
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
  not_before: means('door', momentOrNone())
    .prefault('none')
    .describe('Tokens issued before this moment are refused: 2026-01-31T12:00:00Z, or Unix seconds.'),
};

export const accessTokensSchema = z.strictObject({
  ...tokenRules,
  // Required with `identity_provider`, and an error with `identity_providers`: see identity-checks.ts.
  audience: tokenRules.audience.optional(),
  identity_headers: z
    .record(
      httpToken('is not a header field name: use letters, digits and "-", such as X-Auth-Subject'),
      claim(),
    )
    .prefault({})
    .describe(
      'Header fields that tell upstreams who the caller is, each with its claim. Clients cannot send them.',
    ),
  roles: means('door', z.array(claim(), { error: 'expected a list of claims such as [groups]' }))
    .refine(list => new Set(list).size === list.length, { error: 'a claim is listed twice' })
    .prefault([])
    .describe(
      'Further claims that list roles, for "require" of routes: a text, a list of texts, or an object, whose keys are the roles. Those of Keycloak (realm_access, resource_access) are known.',
    ),
  certificate_field: means(
    'door',
    httpToken('is not a header field name: use letters, digits and "-", such as Client-Cert'),
  )
    .optional()
    .describe(
      "The header field in which trusted proxies send the client's certificate, for tokens that are bound to one (RFC 8705): as in RFC 9440, or as nginx, Envoy or HAProxy write it. Left out: only the certificate of the connection counts.",
    ),
  schemes: means(
    'door',
    z.array(httpToken('expected a scheme such as Bearer or Bot'), {
      error: 'expected a list of schemes such as [Bearer, Bot]',
    }),
  )
    .refine(list => list.some(word => word.toLowerCase() === 'bearer'), {
      error: 'Bearer must be among them: it is the scheme of every standard client',
    })
    .refine(list => new Set(list.map(word => word.toLowerCase())).size === list.length, {
      error: 'a scheme is listed twice (case does not matter)',
    })
    .prefault(['Bearer'])
    .describe('Accepted authorization schemes. Upstreams always get Bearer.'),
  max_length: size({ min: '1KiB', max: '1MiB' })
    .prefault('16KiB')
    .describe(
      'Longest accepted token, at most caps.head. A longer one is invalid (too_long), and its client is told why.',
    ),
  leeway: duration({ min: '0s', max: '10m' })
    .prefault('30s')
    .describe("How far the provider's clock may differ from this one."),
  max_lifetime: durationOrOff({ min: '1s', max: '8760h' })
    .prefault('off')
    .describe(
      'Tokens that live longer, from iat to exp, are refused. If set, revocations are kept no longer than this.',
    ),
  key_set: z
    .strictObject({
      refresh: duration({ min: '1s' }).prefault('10m').describe('Time between two fetches of the keys.'),
      cooldown: duration()
        .prefault('5s')
        .describe('Minimum time between two fetches caused by tokens with unknown keys.'),
    })
    .prefault({})
    .describe("How the provider's keys are kept."),
  cache: z
    .strictObject({
      tokens: byMemory(
        count(1_000_000)
          .prefault(50_000)
          .describe(
            `Maximum number of valid tokens of one provider that are remembered, so that they are not checked again. ${BY_MEMORY} 50000.`,
          ),
      ),
    })
    .prefault({})
    .describe('The cache of tokens.'),
});

export type AccessTokensConfig = z.output<typeof accessTokensSchema>;

/** The paths of `sign_in`. sign-in-checks.ts uses them one by one, as the cross-checks do with the keys of a route. */
export const signInPaths = {
  refresh: ownPath()
    .optional()
    .describe('The path where clients exchange a refresh token for new tokens, such as /v1/users/refresh.'),
  sign_out: ownPath()
    .optional()
    .describe(
      'The path where clients sign out, such as /v1/users/sign-out: access tokens of the session are refused at once, and the refresh token is ended at the provider.',
    ),
};

/** `sign_in` of gateway.yaml. */
export const signInSchema = z
  .strictObject({
    ...signInPaths,
    sign_out_ends: choice(['refresh_token', 'session', 'nothing'])
      .prefault('refresh_token')
      .describe(
        "What sign_out ends at the provider. refresh_token: that token, at the revocation endpoint (RFC 7009). session: the browser's session as well, in Keycloak's way, at the end-session endpoint. nothing: for a provider that has neither.",
      ),
  })
  .refine(({ refresh, sign_out }) => refresh !== undefined || sign_out !== undefined, {
    error: 'names no endpoint: add "refresh" or "sign_out", or leave out "sign_in"',
  })
  .optional()
  .describe(
    'Additional sign-in endpoints that the gateway serves, in addition to the two under /v1/anonymous, on paths of your choice. Left out: none.',
  );
means('door', signInSchema);

export type SignInConfig = z.output<typeof signInSchema>;

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

const RESOURCE =
  'expected the address of this API as clients know it, such as https://api.example.com, without a query and a fragment';

/** `protected_resource` of gateway.yaml. */
export const protectedResourceSchema = z
  .strictObject(
    {
      resource: z
        .string({ error: RESOURCE })
        .refine(isResource, { error: RESOURCE })
        .describe(
          'The identifier of this API: its address as clients know it. https, or http on this machine.',
        ),
    },
    mapExpected('{ resource: "https://api.example.com" }'),
  )
  .optional()
  .describe(
    'Tells clients whose tokens they need (RFC 9728): a document at /.well-known/oauth-protected-resource, which every 401 names. Left out: neither.',
  );

/** Whether it is an address in its canonical spelling: clients compare it character by character (RFC 9728, 3.3). */
function isResource(written: string): boolean {
  if (!URL.canParse(written)) return false;
  const { href, protocol, hostname, username, password, pathname, search, hash } = new URL(written);
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  const isSecure = protocol === 'https:' || (protocol === 'http:' && isHere);
  const isUsual = href === written || href === `${written}/`;
  const hasMore = [username, password, search, hash].some(part => part !== '');
  return isSecure && isUsual && !hasMore && ownPath().safeParse(pathname).success;
}

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
        .describe('Where the gateway asks whether a token is still valid, for routes with introspection.'),
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
      'The client id of the gateway at the provider. Required with redirect_uri, notices, a client authentication, and where a route has introspection.',
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

/** Maximum providers: each is a metrics label value, and keys are fetched from each. */
const MAX_PROVIDERS = 20;

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

export const identityProvidersSchema = z
  .array(doorAsWhole(providerEntrySchema), {
    error: 'expected a list of providers, each of which begins with "- name:"',
  })
  .min(1, { error: 'an empty list has no provider: leave it out' })
  .max(MAX_PROVIDERS, { error: `at most ${MAX_PROVIDERS} providers are possible` });
