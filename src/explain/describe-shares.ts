import { type ForwardRoute, routeOfCaller } from '../config/index.ts';
import { addressKey } from '../http/index.ts';
import type { AskedCaller, ExplainedRow } from './explanation.ts';

/** The route that a caller takes where several upstreams share its callers, and what to say about it. */
export interface Chosen {
  readonly route: ForwardRoute;
  readonly rows: readonly ExplainedRow[];
}

/** Finds the upstream of a caller. Where the caller is not known, it is the one with the largest share. */
export function chooseFor(route: ForwardRoute, caller: AskedCaller, ipv6Prefix: number): Chosen {
  const { shares } = route;
  if (shares === null) return { route, rows: [] };
  const listed = shares.map(share => `${share.route.upstream.name} for ${share.percent}%`).join(', ');
  const key = keyOf(route, caller, ipv6Prefix);
  if (key === null)
    return {
      route,
      rows: [
        ['shares', `${listed} of callers; which one is this caller's is not known: name it, or its address`],
      ],
    };
  const chosen = routeOfCaller(route, key);
  const which = mayHaveToken(route, caller) ? 'without a token this one' : 'this one';
  return {
    route: chosen,
    rows: [['shares', `${listed} of callers; ${which} goes to ${chosen.upstream.name}`]],
  };
}

/** The key that decides; `null` if it is not known. */
function keyOf(route: ForwardRoute, caller: AskedCaller, ipv6Prefix: number): string | null {
  const { as, address, principal } = caller;
  if (route.authentication !== 'none' && as !== 'address' && !mayHaveToken(route, caller)) return principal;
  return address === null ? null : addressKey(address, ipv6Prefix);
}

/** Whether the route takes this caller with a token and without one, and none was told. */
function mayHaveToken({ authentication }: ForwardRoute, { as, principal }: AskedCaller): boolean {
  return authentication === 'optional' && as === null && principal === null;
}
