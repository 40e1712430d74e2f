import type { LoadedConfig } from '../../config/index.ts';
import { addressKey } from '../../http/index.ts';
import { GRPC } from '../../routing/index.ts';
import { describeCall, routeRow } from './describe-route.ts';
import { describeLimits } from './explain-limits.ts';
import { describeRestrictions } from './explain-restrictions.ts';
import type { AskedCaller, Explanation } from './explanation.ts';
import { rivalsOf } from './rivals.ts';

/** Goes the way of a gRPC call through the gateway. `sent`: package.Service/Method, with or without the slash of its path. */
export function explainCall(sent: string, caller: AskedCaller, config: LoadedConfig): Explanation {
  const { snapshot, routes } = config;
  const path = sent.startsWith('/') ? sent : `/${sent}`;
  const match = snapshot.routes.find(GRPC, path);
  const route = routes.find(({ value }) => value === match?.value);
  if (match === null || match.value.kind !== 'forward' || route === undefined)
    return { rows: [['refused', 'UNIMPLEMENTED, no route takes it']], taken: false };
  const { value } = match;
  const key = caller.address === null ? null : addressKey(caller.address);
  return {
    rows: [
      routeRow(route),
      ...describeCall(value, snapshot.identity),
      ...describeLimits({ method: GRPC, path, route: value, as: caller.as }, config),
      ...describeRestrictions(value, key, config),
      ...rivalsOf(route, GRPC, path, routes),
    ],
    taken: true,
  };
}
