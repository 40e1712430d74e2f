import { type RouteModel, refusesSemicolons, type Snapshot } from '../config/index.ts';
import type { Target } from '../http/index.ts';
import { isRoutable } from '../routing/index.ts';
import { describeForwarding, routeRow } from './describe-route.ts';
import { describeLimits, describeUnserved, whyBucketRefuses } from './explain-limits.ts';
import { describeNotice } from './explain-notice.ts';
import { describeCors, describeRestrictions } from './explain-restrictions.ts';
import { describeSignIn, whyOwnRefuses } from './explain-sign-in.ts';
import { describeServerWide, describeTarget, readTarget } from './explain-target.ts';
import type { AskedRequest, Explanation } from './explanation.ts';
import { rivalsOf } from './rivals.ts';
import { routesOf } from './routes.ts';
import type { Row } from './row.ts';

/** Follows a request through the gates, in their order. */
export function explainRequest(request: AskedRequest, snapshot: Snapshot): Explanation {
  const { method, target: sent } = request;
  if (Buffer.byteLength(`${method} ${sent} HTTP/1.1`) > snapshot.caps.headBytes)
    return refused('431, the request line alone is longer than "head" of "caps"');
  if (!isRoutable(method))
    return refused(
      `405, the gateway does not serve ${method}`,
      [],
      describeUnserved(snapshot, request.caller.as),
    );
  const target = readTarget(method, sent);
  if ('rejected' in target) return refused(`400, ${target.rejected}`);
  const explained: Explanation =
    target.path === '*'
      ? { rows: describeServerWide(), taken: true }
      : explainRouted(request, target, snapshot);
  return { ...explained, rows: [...describeTarget(sent, target), ...explained.rows] };
}

/** Follows it from the route lookup on. */
function explainRouted({ method, caller }: AskedRequest, target: Target, snapshot: Snapshot): Explanation {
  const match = snapshot.routes.find(method, target.path);
  const routes = routesOf(snapshot);
  const route = routes.find(({ value }) => value === match?.value);
  const found = route === undefined ? [] : [routeRow(route)];
  if (target.semicolon && refusesSemicolons(match?.value ?? null))
    return refused(
      '400, the path contains a semicolon, which only a route with "semicolons: pass" accepts',
      found,
    );
  const rivals = rivalsOf(route, method, target.path, routes);
  if (match === null || route === undefined)
    return refused('404, no route matches', [], [...rivals, ...describeUnserved(snapshot, caller.as)]);
  const { value, params } = match;
  const matched = explainMatched(
    { method, caller, path: target.path, route: value, params, found, rivals },
    snapshot,
  );
  return { ...matched, route: { route: value, params } };
}

/** A request to a route. */
interface Matched extends Pick<AskedRequest, 'method' | 'caller'> {
  readonly path: string;
  readonly route: RouteModel;
  readonly params: readonly string[];
  /** What is said of the route, and of others. */
  readonly found: readonly Row[];
  readonly rivals: readonly Row[];
}

/** Follows it from its route on. */
function explainMatched(matched: Matched, snapshot: Snapshot): Explanation {
  const { method, caller, path, route: value, params, found, rivals } = matched;
  const refusal =
    value.kind === 'forward' ? null : whyOwnRefuses(value, method, caller.as, snapshot.identity);
  const limited = { method, path, route: value, caller };
  if (refusal !== null) return refused(refusal, found, [...rivals, ...describeLimits(limited, snapshot)]);
  const unread = whyBucketRefuses(limited, snapshot);
  if (unread !== null) return refused(unread.why, [...found, ...unread.rows]);
  const policies = [...describePolicies(value, params, snapshot), ...describeLimits(limited, snapshot)];
  const others = [
    ...describeRestrictions(value, caller, snapshot),
    ...describeCors(value, snapshot),
    ...rivals,
  ];
  return { rows: [...found, ...policies, ...others], taken: true };
}

function refused(why: string, before: readonly Row[] = [], after: readonly Row[] = []): Explanation {
  return { rows: [...before, ['refused', why], ...after], taken: false };
}

function describePolicies(route: RouteModel, params: readonly string[], { identity }: Snapshot): Row[] {
  if (route.kind === 'forward') return describeForwarding(route, params, identity);
  if (identity === null) return [];
  return route.kind === 'sign-in' ? describeSignIn(route, identity) : describeNotice(route, identity);
}
