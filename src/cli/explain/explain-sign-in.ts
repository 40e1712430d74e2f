import type { IdentityModel, SignInRoute } from '../../config/index.ts';
import type { Row } from './row.ts';

/** Says why the gateway refuses a request to one of its own routes; null: it serves the request. */
export function whySignInRefuses(
  { methods }: SignInRoute,
  method: string,
  identity: IdentityModel | null,
): string | null {
  if (identity === null) return '404, no identity_provider is configured';
  return methods.includes(method) ? null : `405, it only serves ${methods.join(' and ')}`;
}

/** Describes what the gateway does with a request that it serves itself. */
export function describeSignIn({ endpoint }: SignInRoute, { provider, signIn }: IdentityModel): Row[] {
  return [
    ['served by', `the gateway itself: ${SERVED[endpoint]}`],
    ['authentication', 'none: open to everyone'],
    ['provider', provider.issuer],
    ['client', `${signIn.clientId}, ${signIn.clientAuthentication.kind}`],
    ...DETAILS[endpoint](signIn),
  ];
}

const DETAILS: Readonly<Record<SignInRoute['endpoint'], (signIn: IdentityModel['signIn']) => Row[]>> = {
  'authorize-url': ({ redirectUri, scope }) => [
    ['redirect URI', redirectUri],
    ['scope', scope],
  ],
  auth: describeRedirects,
  refresh: () => [],
};

const SERVED: Readonly<Record<SignInRoute['endpoint'], string>> = {
  'authorize-url': 'returns the address where a browser signs in',
  auth: 'redeems an authorization code for tokens',
  refresh: 'trades a refresh token for new tokens',
};

function describeRedirects({ redirectUri, redirectAllowList }: IdentityModel['signIn']): Row[] {
  if (redirectAllowList === null) return [['redirect URIs', 'any']];
  return [...new Set([redirectUri, ...redirectAllowList])].map(uri => ['redirect URIs', uri]);
}
