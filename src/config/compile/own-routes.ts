import { NOTICE_KINDS, type NoticeKind } from '../../core/index.ts';
import { findConflicts, parseRoutePattern, type RouteEntry, type RoutePattern } from '../../routing/index.ts';
import type { NoticePlaces, NoticeRoute, SignInEndpoint, SignInRoute } from '../model/index.ts';
import type { SignInConfig } from '../schema/index.ts';

/**
 * The anonymous endpoints (docs/contract.md, 1). They take every method in every configuration, so that no operator's route
 * ever receives the codes that clients send there.
 */
const ANONYMOUS_ROUTES: readonly RouteEntry<SignInRoute>[] = [
  signInRoute('/v1/anonymous/authorize-url', 'authorize-url', ['GET', 'HEAD']),
  signInRoute('/v1/anonymous/auth', 'auth', ['POST']),
];

/**
 * Only routes that name this prefix literally serve other paths under it: a mistyped path (`/v1/anonymous/auth%20`) must not
 * carry a code to the service behind `/**`.
 */
export const SIGN_IN_PREFIX = parseRoutePattern('/v1/anonymous/**', null);

/** The gateway's own routes: the anonymous ones and those of `sign_in`, which take every method, too. */
export function signInRoutes(config: SignInPaths | undefined): readonly RouteEntry<SignInRoute>[] {
  const { refresh, sign_out: signOut } = config ?? {};
  return [
    ...ANONYMOUS_ROUTES,
    ...(refresh === undefined ? [] : [signInRoute(refresh, 'refresh', ['POST'])]),
    ...(signOut === undefined ? [] : [signInRoute(signOut, 'sign-out', ['POST'], 'required')]),
  ];
}

type SignInPaths = Pick<Partial<NonNullable<SignInConfig>>, 'refresh' | 'sign_out'>;

function signInRoute(
  path: string,
  endpoint: SignInEndpoint,
  methods: readonly string[],
  authentication: SignInRoute['authentication'] = 'none',
): RouteEntry<SignInRoute> {
  return {
    pattern: parseRoutePattern(path, null),
    value: {
      kind: 'sign-in',
      id: path,
      endpoint,
      methods,
      authentication,
      semicolons: 'refuse',
      parameters: [],
    },
  };
}

/** The routes of notices on public paths. Several providers may share one. */
export function noticeRoutes(all: readonly NoticePlaces[]): readonly RouteEntry<NoticeRoute>[] {
  const routes: RouteEntry<NoticeRoute>[] = [];
  for (const places of all)
    for (const notice of NOTICE_KINDS) {
      const place = places[notice];
      if (place === null || place === 'admin') continue;
      const route = noticeRoute(notice, place);
      const twin = routes.some(
        ({ value, pattern }) => value.notice === notice && areOne(pattern, route.pattern),
      );
      if (!twin) routes.push(route);
    }
  return routes;
}

function areOne(one: RoutePattern, other: RoutePattern): boolean {
  return findConflicts([one, other]).length > 0;
}

/** Makes a route that takes every method, so that no operator's route ever receives what a provider sends there. */
function noticeRoute(notice: NoticeKind, path: string): RouteEntry<NoticeRoute> {
  return {
    pattern: parseRoutePattern(path, null),
    value: {
      kind: 'notice',
      id: path,
      notice,
      methods: ['POST'],
      authentication: 'none',
      semicolons: 'refuse',
      parameters: [],
    },
  };
}
