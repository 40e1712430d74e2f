import type { Snapshot } from '../config/index.ts';
import { GRPC } from '../routing/index.ts';
import { describeCall, routeRow } from './describe-route.ts';
import { describeLimits, describeUnserved } from './explain-limits.ts';
import { describeRestrictions } from './explain-restrictions.ts';
import type { AskedRequest, Explanation } from './explanation.ts';
import { rivalsOf } from './rivals.ts';
import { routesOf } from './routes.ts';

/** Goes the way of a gRPC call through the gateway. */
export function explainCall({ target, caller }: AskedRequest, snapshot: Snapshot): Explanation {
  const path = target.startsWith('/') ? target : `/${target}`;
  const match = snapshot.routes.find(GRPC, path);
  const routes = routesOf(snapshot);
  const route = routes.find(({ value }) => value === match?.value);
  if (match === null || match.value.kind !== 'forward' || route === undefined)
    return {
      rows: [['refused', 'UNIMPLEMENTED, no route takes it'], ...describeUnserved(snapshot, caller.as)],
      taken: false,
    };
  const { value } = match;
  return {
    rows: [
      routeRow(route),
      ...describeCall(value, snapshot.identity),
      ...describeLimits({ method: GRPC, path, route: value, caller }, snapshot),
      ...describeRestrictions(value, caller, snapshot),
      ...rivalsOf(route, GRPC, path, routes),
    ],
    taken: true,
    route: { route: value, params: match.params },
  };
}
