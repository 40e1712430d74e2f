import { z } from 'zod';
import {
  eachInSteps,
  type Kept,
  type MethodNames,
  reuse,
  reuseInSteps,
  type Steps,
} from '../../core/index.ts';
import type { TokenPlaces, WebhookPaths } from '../../wire/http/index.ts';
import type { KeptModels } from '../kept-parts.ts';
import type { RouteModel, RouteOfFile } from '../model/index.ts';
import { fillAnsweredRoutes, fillRouteDefaults, routeDefaultsSchema } from '../policies/index.ts';
import { type RouteEntry, RouteTable } from '../routing/index.ts';
import { compileRoute, namedMethods, tokensInUrls, webhookPaths } from './compile-routes.ts';
import { type RouteConfig, route } from './route-keys.ts';
import { type SettingContext, setting } from './setting.ts';
import { SIGN_IN_PREFIX } from './sign-in.ts';
import { upstreams } from './upstreams.ts';

/** `routes`: which requests go where. check/route-checks.ts checks them. */
export const routes = setting({
  keys: {
    defaults: routeDefaultsSchema,
    routes: z
      .array(route, { error: 'expected a list of routes, each of which begins with "- path:"' })
      .describe('Which requests go where. A request that no route matches gets 404.'),
  },
  meaning: 'byRoute',
  fill(written, _, file) {
    fillAnsweredRoutes(written.routes);
    fillRouteDefaults(file, written);
  },
  *compile(_, context): Steps<RoutesPart> {
    const { before, ownRoutes } = context;
    const keptRoutes = yield* compileRoutes(context);
    const { entries } = keptRoutes;
    const all: readonly RouteEntry<RouteModel>[] = [...entries, ...ownRoutes];
    const keptTable = yield* reuseInSteps(before?.keptTable, all, () =>
      RouteTable.inSteps(all, [SIGN_IN_PREFIX]),
    );
    return {
      keptRoutes,
      keptTable,
      routes: keptTable.part,
      tokensInUrls: tokensInUrls(entries),
      webhookPaths: webhookPaths(entries),
      namedMethods: namedMethods(entries),
      takesOddPaths: entries.some(
        ({ value }) => value.encodedSlashes !== 'refuse' || value.emptySegments !== 'refuse',
      ),
    };
  },
});

interface RoutesPart extends Pick<KeptModels, 'keptRoutes' | 'keptTable'> {
  /** The routes of gateway.yaml and the gateway's own. */
  readonly routes: RouteTable<RouteModel>;
  /** What URLs of some route may carry as a token; `null` if no route takes any from there. */
  readonly tokensInUrls: TokenPlaces | null;
  /** The paths of webhooks, for any method: their parameters are secret. */
  readonly webhookPaths: WebhookPaths;
  /** The methods that routes name, apart from those that every gateway knows. */
  readonly namedMethods: MethodNames;
  /** Whether a route accepts paths with escaped slashes or empty segments. */
  readonly takesOddPaths: boolean;
}

/** Compiles the routes whose text is new, or all of them if anything changed that they may depend on. */
function* compileRoutes(context: SettingContext): Steps<KeptModels['keptRoutes']> {
  const { before, routeItems: items } = context;
  const { keptUpstreams } = yield* context.compiled(upstreams);
  const known = keptUpstreams === before?.keptUpstreams ? before.keptRoutes : null;
  const { bytes } = items;
  if (known !== null && Buffer.compare(known.bytes, bytes) === 0) return { ...known, bytes };
  const byKey = new Map<string, Kept<string, readonly RouteEntry<RouteOfFile>[]>>();
  const all = yield* eachInSteps(items.all(), ({ key, read }) => {
    const kept = reuse(known?.byKey.get(key), key, () =>
      compileRoute(read() as RouteConfig, keptUpstreams.part, context),
    );
    byKey.set(key, kept);
    return kept.part;
  });
  return { bytes, byKey, all, entries: all.flat() };
}
