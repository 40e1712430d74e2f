import { type LoadedConfig, type RouteModel, refusesSemicolons, type Snapshot } from '../../config/index.ts';
import { addressKey, type Target } from '../../http/index.ts';
import { isRoutable } from '../../routing/index.ts';
import { describeForwarding, routeRow } from './describe-route.ts';
import { describeLimits, whyBucketRefuses } from './explain-limits.ts';
import { describeCors, describeRestrictions } from './explain-restrictions.ts';
import { describeSignIn, whySignInRefuses } from './explain-sign-in.ts';
import { describeServerWide, describeTarget, readTarget } from './explain-target.ts';
import type { AskedCaller, Explanation } from './explanation.ts';
import { rivalsOf } from './rivals.ts';
import type { Row } from './row.ts';

/** Follows a request through the gates, in their order. */
export function explainRequest(
  method: string,
  sent: string,
  caller: AskedCaller,
  config: LoadedConfig,
): Explanation {
  if (Buffer.byteLength(`${method} ${sent} HTTP/1.1`) > config.snapshot.caps.headBytes)
    return refused('431, the request line alone is longer than "head" of "caps"');
  if (!isRoutable(method)) return refused(`405, the gateway does not serve ${method}`);
  const target = readTarget(method, sent);
  if ('rejected' in target) return refused(`400, ${target.rejected}`);
  const { rows, taken } =
    target.path === '*'
      ? { rows: describeServerWide(config), taken: true }
      : explainRouted(method, target, caller, config);
  return { rows: [...describeTarget(sent, target), ...rows], taken };
}

/** Follows it from the route lookup on. */
function explainRouted(
  method: string,
  target: Target,
  caller: AskedCaller,
  config: LoadedConfig,
): Explanation {
  const { snapshot, routes } = config;
  const match = snapshot.routes.find(method, target.path);
  const route = routes.find(({ value }) => value === match?.value);
  const found = route === undefined ? [] : [routeRow(route)];
  if (target.semicolon && refusesSemicolons(match?.value ?? null))
    return refused(
      '400, the path contains a semicolon, which only a route with "semicolons: pass" accepts',
      found,
    );
  const rivals = rivalsOf(route, method, target.path, routes);
  if (match === null || route === undefined) return refused('404, no route matches', [], rivals);
  const { value, params } = match;
  const refusal =
    value.kind === 'sign-in' ? whySignInRefuses(value, method, caller.as, snapshot.identity) : null;
  if (refusal !== null) return refused(refusal, found, rivals);
  const limited = { method, path: target.path, route: value, as: caller.as };
  const unread = whyBucketRefuses(limited, config);
  if (unread !== null) return refused(unread.why, [...found, ...unread.rows]);
  const key = caller.address === null ? null : addressKey(caller.address);
  const policies = [...describePolicies(value, params, snapshot), ...describeLimits(limited, config)];
  const others = [...describeRestrictions(value, key, config), ...describeCors(value, snapshot), ...rivals];
  return { rows: [...found, ...policies, ...others], taken: true };
}

function refused(why: string, before: readonly Row[] = [], after: readonly Row[] = []): Explanation {
  return { rows: [...before, ['refused', why], ...after], taken: false };
}

function describePolicies(route: RouteModel, params: readonly string[], { identity }: Snapshot): Row[] {
  if (route.kind === 'forward') return describeForwarding(route, params, identity);
  return identity === null ? [] : describeSignIn(route, identity);
}
