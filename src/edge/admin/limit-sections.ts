import { type Html, type HtmlPart, html, listTable, localMomentHtml, momentHtml, section } from './html.ts';
import type {
  BucketStatus,
  CallerName,
  CallerStatus,
  CallersStatus,
  GatewayStatus,
  LimitStatus,
  RefusedCallerStatus,
} from './status.ts';

/** Maximum rows of a list. The JSON has all. */
const MAX_ROWS = 60;

const BUCKET_COLUMNS = [
  'Bucket',
  'Class',
  'Limits',
  'Admitted, last minute',
  'Refused, last minute',
  'By restriction, last minute',
  'Admitted, last hour',
  'Refused, last hour',
  'Callers near limit',
];

const SHADOW_COLUMN = 'Would be refused (shadow), last hour';

/** Buckets with the most refusals first, then those with the most requests. */
export function bucketSection({ buckets }: GatewayStatus): Html {
  const busiestFirst = buckets.toSorted(
    (one, other) => refusals(other) - refusals(one) || other.lastHour.admitted - one.lastHour.admitted,
  );
  const shown = busiestFirst.slice(0, MAX_ROWS);
  const idle = shown.map(row => row.lastHour.admitted + refusals(row) === 0);
  const left = buckets.length - shown.length;
  const idleNote = html`<span class="narrow">Those without a request in the last hour are shown on wider screens.</span>`;
  const more = left > 0 ? [`${left} more rows are in /status.json.`] : [];
  const note = idle.includes(true) ? [...more, idleNote] : more;
  const hasShadow = buckets.some(({ limits }) => limits.some(({ enforcedPercent }) => enforcedPercent < 100));
  const columns = hasShadow ? [...BUCKET_COLUMNS, SHADOW_COLUMN] : BUCKET_COLUMNS;
  const rows = shown.map(row =>
    hasShadow ? [...bucketRow(row), row.lastHour.shadowRefused] : bucketRow(row),
  );
  const table = listTable(columns, rows, at => idle[at] === true);
  return section('Buckets', table, note);
}

/** Shows what is in flight in buckets that limit it; nothing if none does. */
export function concurrencySection({ concurrent }: GatewayStatus): Html | string {
  if (concurrent.length === 0) return '';
  const busiestFirst = concurrent.toSorted((one, other) => other.inFlight - one.inFlight).slice(0, MAX_ROWS);
  const rows = busiestFirst.map(each => [each.bucket, each.perCaller, each.inFlight, each.callers]);
  const table = listTable(['Bucket', 'Of one caller, at most', 'In flight here', 'Callers'], rows);
  return section('Requests in flight, by bucket', table);
}

/** Adds up refusals by limits and by restrictions. */
function refusals({ lastHour: { refused, restricted } }: BucketStatus): number {
  return refused + restricted;
}

function bucketRow(row: BucketStatus): HtmlPart[] {
  return [
    row.bucket,
    row.class,
    row.limits.length === 0 ? 'none' : row.limits.map(limitInWords).join(', '),
    row.lastMinute.admitted,
    counted(row.lastMinute.refused),
    counted(row.lastMinute.restricted),
    row.lastHour.admitted,
    counted(row.lastHour.refused),
    row.callersNearLimit,
  ];
}

function limitInWords({ limit, quota, enforcedPercent }: LimitStatus): string {
  if (enforcedPercent === 100) return `${limit} ${quota}`;
  return `${limit} ${quota} (${enforcedPercent === 0 ? 'shadow' : `for ${enforcedPercent} % of callers`})`;
}

/** Highlights a count above 0. */
function counted(number: number): HtmlPart {
  return number === 0 ? 0 : html`<b class="ill">${number}</b>`;
}

/** Shows who is refused, or will be soon. */
export function callerSections({ callers, atMs }: GatewayStatus): HtmlPart[] {
  if (callers === null) return [HIDDEN];
  const { refusedMost, refusedNetworks, nearLimit, mostInFlight } = callers;
  return [
    section('Callers refused most', refusedTable(refusedMost, atMs), nobody(refusedMost, 'hour, none')),
    refusedNetworks.length === 0
      ? ''
      : section('Networks refused most', networksTable(refusedNetworks, atMs)),
    section('Callers near their limit', nearTable(nearLimit, atMs), nobody(nearLimit, 'minute, none')),
    mostInFlight.length === 0 ? '' : section('Callers with most in flight', inFlightTable(mostInFlight)),
    restrictionSection(callers, atMs),
  ];
}

const HIDDEN = section(
  'Callers',
  '',
  html`Callers and restrictions are shown with the token of <code>listen.admin.token_file</code>, and without one if the listener is bound to loopback.`,
);

function nobody(callers: readonly CallerStatus[], words: string): string {
  return callers.length === 0 ? `In the last ${words}.` : '';
}

/** Shows who is refused most, and why; limits and restrictions count separately. */
function refusedTable(callers: readonly RefusedCallerStatus[], nowMs: number): Html | string {
  if (callers.length === 0) return '';
  const rows = callers.map(caller => [
    nameOf(caller),
    caller.class,
    caller.bucket,
    span(caller.count - caller.restricted, caller.maxCount - caller.restricted),
    counted(caller.restricted),
    whyInWords(caller.why),
    quotaHtml(caller, nowMs),
    momentHtml(caller.sinceMs, nowMs),
    momentHtml(caller.lastAtMs, nowMs),
  ]);
  const columns = [
    'Caller',
    'Class',
    'Bucket',
    'By limits',
    'By restriction',
    'Why, last',
    QUOTA,
    'Since',
    'Last',
  ];
  return quotaTable(columns, rows, callers);
}

/** Shows networks of which several addresses are refused. */
function networksTable(networks: CallersStatus['refusedNetworks'], nowMs: number): Html {
  const rows = networks.map(each => [
    each.network,
    each.addresses,
    span(each.count - each.restricted, each.maxCount - each.restricted),
    counted(each.restricted),
    momentHtml(each.sinceMs, nowMs),
    momentHtml(each.lastAtMs, nowMs),
  ]);
  return listTable(['Network', 'Addresses', 'By limits', 'By restriction', 'Since', 'Last'], rows);
}

function nearTable(callers: readonly CallerStatus[], nowMs: number): Html | string {
  if (callers.length === 0) return '';
  const rows = callers.map(caller => [
    nameOf(caller),
    caller.class,
    caller.bucket,
    span(caller.count, caller.maxCount),
    quotaHtml(caller, nowMs),
    momentHtml(caller.sinceMs, nowMs),
    momentHtml(caller.lastAtMs, nowMs),
  ]);
  return quotaTable(['Caller', 'Class', 'Bucket', 'Times', QUOTA, 'Since', 'Last'], rows, callers);
}

const QUOTA = 'Quota used';

/** Leaves out the column of quotas where no caller has one. */
function quotaTable(columns: string[], rows: HtmlPart[][], callers: readonly CallerStatus[]): Html {
  if (callers.every(({ quota }) => quota === undefined)) {
    const at = columns.indexOf(QUOTA);
    for (const cells of [columns, ...rows]) cells.splice(at, 1);
  }
  return listTable(columns, rows);
}

/** How much of a long quota is used, as a bar, and when it resets. */
function quotaHtml({ quota }: CallerStatus, nowMs: number): HtmlPart {
  if (quota === undefined || quota.resetAtMs <= nowMs) return '';
  const { limit, remaining, period, resetAtMs } = quota;
  const words = `${limit - remaining} of ${limit}/${period}`;
  return html`<meter max="${limit}" value="${limit - remaining}" aria-label="${words}"></meter> ${words}, until ${localMomentHtml(resetAtMs)}`;
}

function inFlightTable(callers: CallersStatus['mostInFlight']): Html {
  const rows = callers.map(caller => [nameOf(caller), caller.bucket, caller.inFlight]);
  return listTable(['Caller', 'Bucket', 'In flight here'], rows);
}

function span(count: number, maxCount: number): number | string {
  return count === maxCount ? count : `${count} to ${maxCount}`;
}

const WHY: ReadonlyMap<string, string> = new Map([
  ['global', 'the global limit'],
  ['caller', 'its limit in the bucket'],
  ['group', 'the limit of the group'],
  ['resource', 'the limit of the resource'],
  ['concurrent', 'the maximum is in flight'],
  ['blocked', 'blocked'],
  ['operator', 'restricted by an operator'],
]);

/** Puts a reason in words. Reasons without an entry are keys of limits.yaml. */
function whyInWords(why: string): string {
  return WHY.get(why) ?? `restricted: ${why}`;
}

function restrictionSection({ restrictions, unlistedRestrictions }: CallersStatus, nowMs: number): Html {
  const rows = restrictions.map(restriction => [
    nameOf(restriction),
    KINDS[restriction.kind],
    restriction.reason,
    momentHtml(restriction.sinceMs, nowMs),
    momentHtml(restriction.untilMs, nowMs),
  ]);
  const table = rows.length === 0 ? '' : listTable(['Who', 'Kind', 'Why', 'Since', 'Until'], rows);
  if (rows.length === 0 && unlistedRestrictions === 0) return section('Restrictions', '', 'None.');
  const more = 'more, which are not listed here or come from other gateways.';
  return section('Restrictions', table, unlistedRestrictions === 0 ? '' : `${unlistedRestrictions} ${more}`);
}

/** The kinds of restricted clients, in words. */
const KINDS: Readonly<Record<CallersStatus['restrictions'][number]['kind'], string>> = {
  address: 'address',
  principal: 'caller',
  webhook: 'address on a webhook',
};

function nameOf(name: CallerName): HtmlPart {
  return 'address' in name ? name.address : html`<code>${name.caller}</code>`;
}
