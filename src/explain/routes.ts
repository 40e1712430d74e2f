import type { FilePlace, RouteModel, Snapshot } from '../config/index.ts';
import type { RouteEntry } from '../routing/index.ts';

/** A route with its pattern and where it is written. */
export interface ListedRoute extends RouteEntry<RouteModel> {
  /** Where it is written; `null` for the gateway's own routes. */
  readonly place: FilePlace | null;
}

/** The routes in file order, then the gateway's own. */
export function routesOf({ outline: { routes, ownRoutes } }: Snapshot): readonly ListedRoute[] {
  return [...routes, ...ownRoutes.map(route => ({ ...route, place: null }))];
}
