import { parseRoutePattern, type RouteEntry } from '../routing/index.ts';
import type { SignInRoute } from './model.ts';

/**
 * The anonymous endpoints (docs/contract.md, 1). They are the gateway's own whatever the configuration says, and for
 * every method: no route of an operator may come to serve what clients send their codes to.
 */
export const SIGN_IN_ROUTES: readonly RouteEntry<SignInRoute>[] = [
  signInRoute('/v1/anonymous/authorize-url', 'authorize-url'),
  signInRoute('/v1/anonymous/auth', 'auth'),
];

function signInRoute(path: string, endpoint: SignInRoute['endpoint']): RouteEntry<SignInRoute> {
  return {
    pattern: parseRoutePattern(path, null),
    value: {
      kind: 'sign-in',
      id: path,
      endpoint,
      authentication: 'none',
      semicolons: 'refuse',
      parameters: [],
    },
  };
}
