import { z } from 'zod';
import type { SignInEndpoint, SignInRoute } from '../model/index.ts';
import { parseRoutePattern, type RouteEntry } from '../routing/index.ts';
import { choice, means, ownPath } from '../values/index.ts';
import { ownRoute } from './own-routes.ts';

/** The paths of `sign_in`. check/sign-in-checks.ts uses them one by one, as the cross-checks do with the keys of a route. */
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

/** `sign_in`: a part of what identity.ts compiles. */
export const signInKeys = means('door', {
  sign_in: z
    .strictObject({
      ...signInPaths,
      sign_out_ends: choice(['refresh_token', 'session', 'nothing']).describe(
        "What sign_out ends at the provider. refresh_token: that token, at the revocation endpoint (RFC 7009). session: the browser's session as well, in Keycloak's way, at the end-session endpoint. nothing: for a provider that has neither.",
      ),
    })
    .refine(({ refresh, sign_out }) => refresh !== undefined || sign_out !== undefined, {
      error: 'names no endpoint: add "refresh" or "sign_out", or leave out "sign_in"',
    })
    .optional()
    .describe(
      'Additional sign-in endpoints that the gateway serves, in addition to the two under /v1/anonymous, on paths of your choice. Left out: none.',
    ),
});

/**
 * The anonymous endpoints (docs/contract.md, 1). They match every method in every configuration, so that no operator's route ever
 * receives the codes that clients send there.
 */
const ANONYMOUS_ROUTES: readonly RouteEntry<SignInRoute>[] = [
  signInRoute('/v1/anonymous/authorize-url', 'authorize-url', ['GET', 'HEAD']),
  signInRoute('/v1/anonymous/auth', 'auth', ['POST']),
];

/**
 * Only routes that name this prefix literally match other paths under it: a mistyped path (`/v1/anonymous/auth%20`) must not
 * carry a code to the service behind `/**`.
 */
export const SIGN_IN_PREFIX = parseRoutePattern('/v1/anonymous/**', null);

/** The routes of sign-in: the anonymous ones and those of `sign_in`, which also match every method. */
export function signInRoutes(config: SignInPaths | undefined): readonly RouteEntry<SignInRoute>[] {
  const { refresh, sign_out: signOut } = config ?? {};
  return [
    ...ANONYMOUS_ROUTES,
    ...(refresh === undefined ? [] : [signInRoute(refresh, 'refresh', ['POST'])]),
    ...(signOut === undefined ? [] : [signInRoute(signOut, 'sign-out', ['POST'], 'required')]),
  ];
}

interface SignInPaths {
  readonly refresh?: string | undefined;
  readonly sign_out?: string | undefined;
}

function signInRoute(
  path: string,
  endpoint: SignInEndpoint,
  methods: readonly string[],
  authentication: SignInRoute['authentication'] = 'none',
): RouteEntry<SignInRoute> {
  return ownRoute(path, { kind: 'sign-in', endpoint, methods, authentication });
}
