import type { IdentityModel, SignInRoute } from '../../config/index.ts';
import type { ExplainedFact } from './fact.ts';

/** Why the gateway refuses a request to one of its own routes, or null when it serves it. */
export function whySignInRefuses(
  { methods }: SignInRoute,
  method: string,
  identity: IdentityModel | null,
): string | null {
  if (identity === null) return '404, there is no identity_provider to sign users in with';
  return methods.includes(method) ? null : `405, it is served for ${methods.join(' and ')} only`;
}

/** What the gateway does with a request that it serves itself. */
export function describeSignIn(
  { endpoint }: SignInRoute,
  { provider, signIn }: IdentityModel,
): ExplainedFact[] {
  return [
    ['served by', `the gateway itself: ${SERVED[endpoint]}`],
    ['authentication', 'none: everyone may use it'],
    ['provider', provider.issuer],
    ['client', `${signIn.clientId}, ${signIn.clientAuthentication.kind}`],
    ...(endpoint === 'auth'
      ? describeRedirects(signIn)
      : ([
          ['redirect URI', signIn.redirectUri],
          ['scope', signIn.scope],
        ] as const)),
  ];
}

const SERVED: Readonly<Record<SignInRoute['endpoint'], string>> = {
  'authorize-url': 'the address at which a browser signs in',
  auth: 'an authorization code is redeemed for tokens',
};

function describeRedirects({ redirectUri, redirectAllowList }: IdentityModel['signIn']): ExplainedFact[] {
  if (redirectAllowList === null) return [['redirect URIs', 'any']];
  return [...new Set([redirectUri, ...redirectAllowList])].map(uri => ['redirect URIs', uri]);
}
