import type { LoadedConfig, RouteModel, Snapshot } from '../../config/index.ts';
import { addressOfKey } from '../../http/index.ts';
import type { OffenceRule } from '../../limits/index.ts';
import { formatDuration } from '../units.ts';
import { formatPlace } from './explain-limits.ts';
import type { ExplainedFact } from './fact.ts';

/**
 * What may come to refuse a caller of this route for a while, and after what.
 *
 * @param address the client's, as its key; null: any.
 */
export function describeRestrictions(
  route: RouteModel,
  address: string | null,
  { snapshot, limits }: LoadedConfig,
): ExplainedFact[] {
  const { invalidRequests, webhookNotFound, ignoredRefusals, neverRestrict } = snapshot.limits;
  const facts: ExplainedFact[] = [];
  const add = (key: string, rule: OffenceRule | null, who: string, what: string): void => {
    if (rule === null) return;
    const { quota, restrictForMs } = rule;
    const place = formatPlace(limits.placeOf([key]));
    const once = `once more than ${quota.units} of its requests in ${formatDuration(quota.periodMs)} ${what}`;
    facts.push(['restrictions', `${who} for ${formatDuration(restrictForMs)}, ${once} (${place})`]);
  };
  if (address !== null && neverRestrict.has(addressOfKey(address))) {
    const place = formatPlace(limits.placeOf(['never_restrict']));
    facts.push(['restrictions', `none: ${address} is among never_restrict (${place})`]);
  } else {
    add('invalid_requests', invalidRequests, 'the address', 'end with 401, 403 or 429');
    if (route.kind === 'forward' && route.webhook)
      add('webhook_not_found', webhookNotFound, 'the address on this webhook', 'find it gone (404)');
    const whoIgnores = ignoredRefusals?.addresses ? 'the caller' : 'a bot or user';
    if (ignoredRefusals?.addresses || route.authentication !== 'none')
      add('ignored_refusals', ignoredRefusals, whoIgnores, 'come before the wait of a 429 is over');
    if (facts.length === 0) facts.push(['restrictions', 'none']);
  }
  return [...facts, ...describeFailedVerifications(route, { snapshot, limits })];
}

function describeFailedVerifications(
  route: RouteModel,
  { snapshot, limits }: Pick<LoadedConfig, 'snapshot' | 'limits'>,
): ExplainedFact[] {
  const budget = snapshot.identity?.failedVerifications ?? null;
  if (route.authentication === 'none' || budget === null) return [];
  const quota = `${budget.limit} in ${formatDuration(budget.periodMs)}`;
  const place = formatPlace(limits.placeOf(['failed_verifications']));
  return [
    [
      'failed tokens',
      `of one address ${quota}; beyond that 429 for nearly all of them until the period is over (${place})`,
    ],
  ];
}

/** What browsers get from the gateway. */
export function describeCors(route: RouteModel, { cors }: Snapshot): ExplainedFact[] {
  if (cors === null) return [['CORS', 'off: a preflight is a request like any other']];
  if (route.kind === 'forward' && !route.cors)
    return [
      ['CORS', 'left to the upstream: preflights of every method reach it, as OPTIONS and without a token'],
    ];
  const origins = cors.origins === null ? ['any'] : [...cors.origins];
  return [['CORS', `the gateway answers preflights; pages of these origins may call: ${origins.join(', ')}`]];
}
