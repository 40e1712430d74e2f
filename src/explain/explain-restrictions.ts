import type { RouteModel, Snapshot } from '../config/index.ts';
import { formatDuration } from '../core/index.ts';
import { addressKey, addressOfKey } from '../http/index.ts';
import type { OffenceRule } from '../limits/index.ts';
import type { AskedCaller } from './explanation.ts';
import { formatPlace, type Row } from './row.ts';

/** Lists what may restrict a caller of this route, and after which offences. */
export function describeRestrictions(route: RouteModel, caller: AskedCaller, snapshot: Snapshot): Row[] {
  const listed = describeListed(route, caller, snapshot);
  const rows = listed === null ? describeRules(route, snapshot) : [listed];
  return [...rows, ...describeFailedVerifications(route, snapshot)];
}

/** Says that the client, as far as it is known, stands under `blocked` or `never_restrict`. Null: under neither. */
function describeListed(
  route: RouteModel,
  caller: AskedCaller,
  { limits: { blocked, neverRestrict }, outline: { places } }: Snapshot,
): Row | null {
  const key = caller.address === null ? null : addressKey(caller.address);
  const address = key === null ? null : addressOfKey(key);
  // Without a look at the token nobody knows the caller.
  const principal = route.authentication === 'none' ? null : caller.principal;
  const isSpared = {
    address: address !== null && neverRestrict.addresses.has(address),
    caller: principal !== null && neverRestrict.callers.has(principal),
  };
  const row = (list: string, text: string): Row => [
    'restrictions',
    `${text} (${formatPlace(places.of([list]))})`,
  ];
  if (address !== null && !isSpared.address && blocked?.addresses.has(address))
    return row('blocked', `${key} is blocked: everything from it gets 429`);
  if (principal !== null && !isSpared.caller && blocked?.callers.has(principal))
    return row('blocked', 'the caller is blocked: everything from it gets 429');
  if (isSpared.address) return row('never_restrict', `none: ${key} is among never_restrict`);
  return isSpared.caller ? row('never_restrict', 'none: the caller is among never_restrict') : null;
}

function describeRules(route: RouteModel, { limits, outline: { places } }: Snapshot): Row[] {
  const { invalidRequests, webhookNotFound, ignoredRefusals } = limits;
  const rows: Row[] = [];
  const add = (key: string, rule: OffenceRule | null, who: string, what: string): void => {
    if (rule === null) return;
    const { quota, restrictForMs, shadow = false } = rule;
    const place = formatPlace(places.of([key]));
    const once = `after more than ${quota.units} of its requests in ${formatDuration(quota.periodMs)} ${what}`;
    const isTried = shadow ? ', in shadow: it restricts nobody' : '';
    rows.push(['restrictions', `${who} for ${formatDuration(restrictForMs)}, ${once}${isTried} (${place})`]);
  };
  add('invalid_requests', invalidRequests, 'the address', 'ended with 401, 403 or 429');
  if (route.kind === 'forward' && route.webhook)
    add('webhook_not_found', webhookNotFound, 'the address on this webhook', 'got 404');
  const whoIgnores = ignoredRefusals?.addresses ? 'the caller' : 'a bot or user';
  if (ignoredRefusals?.addresses || route.authentication !== 'none')
    add('ignored_refusals', ignoredRefusals, whoIgnores, 'came before the Retry-After of a 429 was over');
  return rows.length === 0 ? [['restrictions', 'none']] : rows;
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
