import type { RouteModel, Snapshot } from '../config/index.ts';
import { formatDuration } from '../core/index.ts';
import { addressOfKey } from '../http/index.ts';
import type { OffenceRule } from '../limits/index.ts';
import { formatPlace, type Row } from './row.ts';

/**
 * Lists what may restrict a caller of this route, and after which offences.
 *
 * @param address the key of the client's address; null: any.
 */
export function describeRestrictions(route: RouteModel, address: string | null, snapshot: Snapshot): Row[] {
  const { invalidRequests, webhookNotFound, ignoredRefusals, neverRestrict, blocked } = snapshot.limits;
  const { places } = snapshot.outline;
  const rows: Row[] = [];
  const add = (key: string, rule: OffenceRule | null, who: string, what: string): void => {
    if (rule === null) return;
    const { quota, restrictForMs, shadow = false } = rule;
    const place = formatPlace(places.of([key]));
    const once = `after more than ${quota.units} of its requests in ${formatDuration(quota.periodMs)} ${what}`;
    const isTried = shadow ? ', in shadow: it restricts nobody' : '';
    rows.push(['restrictions', `${who} for ${formatDuration(restrictForMs)}, ${once}${isTried} (${place})`]);
  };
  if (address !== null && neverRestrict.addresses.has(addressOfKey(address))) {
    const place = formatPlace(places.of(['never_restrict']));
    rows.push(['restrictions', `none: ${address} is among never_restrict (${place})`]);
  } else if (address !== null && blocked?.addresses.has(addressOfKey(address))) {
    const place = formatPlace(places.of(['blocked']));
    rows.push(['restrictions', `${address} is blocked: everything from it gets 429 (${place})`]);
  } else {
    add('invalid_requests', invalidRequests, 'the address', 'ended with 401, 403 or 429');
    if (route.kind === 'forward' && route.webhook)
      add('webhook_not_found', webhookNotFound, 'the address on this webhook', 'got 404');
    const whoIgnores = ignoredRefusals?.addresses ? 'the caller' : 'a bot or user';
    if (ignoredRefusals?.addresses || route.authentication !== 'none')
      add('ignored_refusals', ignoredRefusals, whoIgnores, 'came before the Retry-After of a 429 was over');
    if (rows.length === 0) rows.push(['restrictions', 'none']);
  }
  return [...rows, ...describeFailedVerifications(route, snapshot)];
}

function describeFailedVerifications(route: RouteModel, { identity, outline: { places } }: Snapshot): Row[] {
  const budget = identity?.failedVerifications ?? null;
  if (route.authentication === 'none' || budget === null) return [];
  const quota = `${budget.limit} in ${formatDuration(budget.periodMs)}`;
  const place = formatPlace(places.of(['failed_verifications']));
  return [
    [
      'failed tokens',
      `${quota} per address; then 429 for most of its unknown tokens until the period is over (${place})`,
    ],
  ];
}

/** Describes how preflights and CORS fields are handled. */
export function describeCors(route: RouteModel, { cors }: Snapshot): Row[] {
  if (cors === null) return [['CORS', 'off: preflights are ordinary requests']];
  if (route.kind === 'forward' && !route.cors)
    return [['CORS', 'left to the upstream: every preflight reaches it, as OPTIONS and without a token']];
  const origins = cors.origins === null ? ['any'] : [...cors.origins];
  return [['CORS', `the gateway answers preflights; allowed origins: ${origins.join(', ')}`]];
}
