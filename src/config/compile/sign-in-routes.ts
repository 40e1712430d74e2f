import { parseRoutePattern, type RouteEntry } from '../../routing/index.ts';
import type { SignInRoute } from '../model/index.ts';

/**
 * The anonymous endpoints (docs/contract.md, 1). They are the gateway's own whatever the configuration says, and for
 * every method: no route of an operator may come to serve what clients send their codes to.
 */
export const SIGN_IN_ROUTES: readonly RouteEntry<SignInRoute>[] = [
  signInRoute('/v1/anonymous/authorize-url', 'authorize-url'),
  signInRoute('/v1/anonymous/auth', 'auth'),
];

/**
 * What else is under their prefix. No route takes it that does not name the prefix: a path with a slip of the pen
 * (`/v1/anonymous/auth%20`) must not carry a code to the service behind `/**`.
 */
export const SIGN_IN_PREFIX = parseRoutePattern('/v1/anonymous/**', null);

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
