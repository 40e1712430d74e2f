import type { IdentityModel, MetadataRoute, NoticeRoute, OwnRoute, SignInRoute } from '../config/index.ts';
import { signInProvider } from '../config/index.ts';
import type { SignInOptions } from '../identity/signin/index.ts';
import type { AskedCaller, ExplainedRow } from './explanation.ts';

/** Returns why the gateway refuses a request to one of its own routes; `null` if it serves the request. */
export function whyOwnRefuses(
  { kind, methods, authentication }: OwnRoute,
  method: string,
  as: AskedCaller['as'],
  identity: IdentityModel | null,
): string | null {
  if (identity === null || identity.providers.length === 0) return '404, no identity_provider is configured';
  if (kind === 'sign-in' && signInProvider(identity) === null) return '404, sign-in is off: no redirect_uri';
  // The gateway checks first whether there is a token.
  if (authentication === 'required' && as === 'address') return null;
  return methods.includes(method) ? null : `405, it only serves ${methods.join(' and ')}`;
}

/** Describes what the gateway does with a request that it serves itself. */
export function describeSignIn(
  { endpoint, authentication }: SignInRoute,
  identity: IdentityModel,
): ExplainedRow[] {
  const found = signInProvider(identity);
  if (found === null) return [];
  const { provider, signIn } = found;
  return [
    ['served by', `the gateway itself: ${SERVED[endpoint]}`],
    ['authentication', AUTHENTICATION[authentication]],
    ['provider', provider.issuer],
    ['client', `${signIn.clientId}, ${signIn.clientAuthentication.kind}`],
    ...DETAILS[endpoint](signIn),
  ];
}

const DETAILS: Readonly<Record<SignInRoute['endpoint'], (signIn: SignInOptions) => ExplainedRow[]>> = {
  'authorize-url': ({ redirectUri, scope, authorizationParameters: { fixed, allow } }) => [
    ['redirect URI', redirectUri],
    ['scope', scope],
    ...Object.entries(fixed).map(([name, value]): ExplainedRow => ['parameter', `${name}=${value}`]),
    ...allow.map((name): ExplainedRow => ['parameter', `${name}, as the client chooses`]),
  ],
  auth: describeRedirects,
  refresh: () => [],
  'sign-out': ({ signOutEnds }) => [['ends', ENDS[signOutEnds]]],
};

const AUTHENTICATION: Readonly<Record<SignInRoute['authentication'], string>> = {
  none: 'none: open to everyone',
  required: 'required: 401 without a valid token',
};

const ENDS: Readonly<Record<SignInOptions['signOutEnds'], string>> = {
  refresh_token: 'the refresh token, at the revocation endpoint of the provider',
  session: "the session, at the provider's end-session endpoint",
  nothing: 'nothing at the provider',
};

const SERVED: Readonly<Record<SignInRoute['endpoint'], string>> = {
  'authorize-url': 'returns the address where a browser signs in',
  auth: 'redeems an authorization code for tokens',
  refresh: 'exchanges a refresh token for new tokens',
  'sign-out': 'ends the session of the access token, and the refresh token',
};

function describeRedirects({ redirectUri, redirectAllowList }: SignInOptions): ExplainedRow[] {
  if (redirectAllowList === null) return [['redirect URIs', 'any']];
  return [...new Set([redirectUri, ...redirectAllowList])].map(uri => ['redirect URIs', uri]);
}

export function describeNotice({ notice }: NoticeRoute, { providers }: IdentityModel): ExplainedRow[] {
  const senders = providers.filter(({ notices }) => notices[notice] !== null);
  return [
    ['served by', `the gateway itself: ${SERVED_NOTICES[notice]}`],
    ['authentication', 'a signature by a key of the provider'],
    ...senders.map(({ provider }): ExplainedRow => ['provider', provider.issuer]),
  ];
}

export function describeMetadata({ document }: MetadataRoute): ExplainedRow[] {
  return [
    ['served by', 'the gateway itself: says whose tokens are accepted (RFC 9728)'],
    ['authentication', 'none: open to everyone'],
    ['document', document],
  ];
}

const SERVED_NOTICES: Readonly<Record<NoticeRoute['notice'], string>> = {
  not_before_push: 'a not-before push of the provider refuses older tokens',
  back_channel_logout: "a logout token of the provider refuses a session's or user's tokens",
};
