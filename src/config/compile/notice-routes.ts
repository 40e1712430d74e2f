import type { NoticeKind } from '../../core/index.ts';
import { findConflicts, parseRoutePattern, type RouteEntry, type RoutePattern } from '../../routing/index.ts';
import { NOTICE_KINDS, type NoticePlaces, type NoticeRoute } from '../model/index.ts';

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

/** Takes every method, so that no operator's route ever receives what a provider sends there. */
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
