import { NOTICE_KINDS } from '../../core/index.ts';
import type { NoticePlaces, NoticeRoute } from '../model/index.ts';
import { EVERY_HOST, findConflicts, parseRoutePattern, type RouteEntry } from '../routing/index.ts';

/** Makes one of the gateway's own routes: for every method, on every host. */
export function ownRoute<Route extends object>(path: string, route: Route) {
  const value = { id: path, semicolons: 'refuse' as const, parameters: [], ...route };
  return { pattern: parseRoutePattern(path, null, EVERY_HOST), value };
}

/** The routes of notices on public paths. Several providers may share one. */
export function noticeRoutes(all: readonly NoticePlaces[]): readonly RouteEntry<NoticeRoute>[] {
  const routes: RouteEntry<NoticeRoute>[] = [];
  for (const places of all)
    for (const notice of NOTICE_KINDS) {
      const place = places[notice];
      if (place === null || place === 'admin') continue;
      // Matches every method, so that no operator's route ever receives what a provider sends there.
      const how = { methods: ['POST'], authentication: 'none' } as const;
      const route = ownRoute(place, { kind: 'notice' as const, notice, ...how });
      const twin = routes.some(
        ({ value, pattern }) => value.notice === notice && findConflicts([pattern, route.pattern]).length > 0,
      );
      if (!twin) routes.push(route);
    }
  return routes;
}
