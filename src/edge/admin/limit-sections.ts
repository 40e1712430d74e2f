import {
  type Column,
  type Html,
  type HtmlPart,
  html,
  listTable,
  localMomentHtml,
  momentHtml,
  pageSection,
} from './html.ts';
import type { BucketStatus, CallerName, CallersStatus, GatewayStatus } from './status.ts';

/** Maximum rows of a list. The JSON has all. */
const MAX_ROWS = 60;

/** Buckets with the most refusals first, then those with the most requests. */
export function bucketSection({ buckets }: GatewayStatus): Html {
  const busiestFirst = buckets.toSorted(
    (one, other) => refusals(other) - refusals(one) || other.lastHour.admitted - one.lastHour.admitted,
  );
  const shown = busiestFirst.slice(0, MAX_ROWS);
  const isIdle = (row: BucketStatus) => row.lastHour.admitted + refusals(row) === 0;
  const left = buckets.length - shown.length;
  const idleNote = html`<span class="narrow">Those without a request in the last hour are shown on wider screens.</span>`;
  const more = left > 0 ? [`${left} more rows are in /status.json.`] : [];
  const note = shown.some(isIdle) ? [...more, idleNote] : more;
  const hasShadow = buckets.some(({ limits }) => limits.some(({ enforcedPercent }) => enforcedPercent < 100));
  const columns: Column<BucketStatus>[] = [
    ['Bucket', row => row.bucket],
    ['Class', row => row.class],
    ['Limits', ({ limits }) => limits.map(limitInWords).join(', ') || 'none'],
    ['Admitted, last minute', ({ lastMinute }) => lastMinute.admitted],
    ['Refused, last minute', ({ lastMinute }) => counted(lastMinute.refused)],
    ['By restriction, last minute', ({ lastMinute }) => counted(lastMinute.restricted)],
    ['Admitted, last hour', ({ lastHour }) => lastHour.admitted],
    ['Refused, last hour', ({ lastHour }) => counted(lastHour.refused)],
    ['Callers near limit', row => row.callersNearLimit],
    hasShadow && ['Would be refused (shadow), last hour', ({ lastHour }) => lastHour.shadowRefused],
  ];
  return pageSection('Buckets', listTable(shown, columns, isIdle), note);
}

/** Shows what is in flight in buckets that limit it; nothing if none does. */
export function concurrencySection({ concurrent }: GatewayStatus): Html | string {
  if (concurrent.length === 0) return '';
  const busiestFirst = concurrent.toSorted((one, other) => other.inFlight - one.inFlight).slice(0, MAX_ROWS);
  const table = listTable(busiestFirst, [
    ['Bucket', each => each.bucket],
    ['Of one caller, at most', each => each.perCaller],
    ['In flight here', each => each.inFlight],
    ['Callers', each => each.callers],
  ]);
  return pageSection('Requests in flight, by bucket', table);
}

function refusals({ lastHour: { refused, restricted } }: BucketStatus): number {
  return refused + restricted;
}

function limitInWords({ limit, quota, enforcedPercent }: BucketStatus['limits'][number]): string {
  if (enforcedPercent === 100) return `${limit} ${quota}`;
  return `${limit} ${quota} (${enforcedPercent === 0 ? 'shadow' : `for ${enforcedPercent} % of callers`})`;
}

/** Highlights a count above 0. */
function counted(number: number): HtmlPart {
  return number === 0 ? 0 : html`<b class="ill">${number}</b>`;
}

export function callerSections({ callers, atMs }: GatewayStatus): HtmlPart[] {
  if (callers === null) return [HIDDEN];
  const { refusedMost, refusedNetworks, nearLimit, mostInFlight } = callers;
  return [
    // `count` includes the refusals by restriction. Show the two apart.
    callerSection('Callers refused most', 'hour', refusedMost, atMs, [
      ['By limits', each => span(each.count - each.restricted, each.maxCount - each.restricted)],
      ['By restriction', each => counted(each.restricted)],
      // The other reasons are keys of limits.yaml.
      ['Why, last', ({ why }) => WHY.get(why) ?? `restricted: ${why}`],
    ]),
    refusedNetworks.length === 0
      ? ''
      : pageSection('Networks refused most', networksTable(refusedNetworks, atMs)),
    callerSection('Callers near their limit', 'minute', nearLimit, atMs, [
      ['Times', ({ count, maxCount }) => span(count, maxCount)],
    ]),
    mostInFlight.length === 0 ? '' : pageSection('Callers with most in flight', inFlightTable(mostInFlight)),
    restrictionSection(callers, atMs),
  ];
}

const HIDDEN = pageSection(
  'Callers',
  '',
  html`Callers and restrictions are shown with the token of <code>listen.admin.token_file</code>, and without one if the listener is bound to loopback.`,
);

type Caller = CallersStatus['nearLimit'][number];

/** Callers of the last hour or minute, and how often something happened to each. */
function callerSection<Each extends Caller>(
  title: string,
  last: string,
  callers: readonly Each[],
  nowMs: number,
  counts: readonly Column<Each>[],
): Html {
  if (callers.length === 0) return pageSection(title, '', `In the last ${last}, none.`);
  const hasQuotas = callers.some(({ quota }) => quota !== undefined);
  const table = listTable<Each>(callers, [
    ['Caller', nameOf],
    ['Class', caller => caller.class],
    ['Bucket', ({ bucket }) => bucket],
    ...counts,
    hasQuotas && ['Quota used', ({ quota }) => quotaHtml(quota, nowMs)],
    ['Since', ({ sinceMs }) => momentHtml(sinceMs, nowMs)],
    ['Last', ({ lastAtMs }) => momentHtml(lastAtMs, nowMs)],
  ]);
  return pageSection(title, table);
}

function networksTable(networks: CallersStatus['refusedNetworks'], nowMs: number): Html {
  return listTable(networks, [
    ['Network', ({ network }) => network],
    ['Addresses', ({ addresses }) => addresses],
    ['By limits', each => span(each.count - each.restricted, each.maxCount - each.restricted)],
    ['By restriction', ({ restricted }) => counted(restricted)],
    ['Since', ({ sinceMs }) => momentHtml(sinceMs, nowMs)],
    ['Last', ({ lastAtMs }) => momentHtml(lastAtMs, nowMs)],
  ]);
}

/** How much of a long quota is used, as a bar, and when it resets. */
function quotaHtml(quota: Caller['quota'], nowMs: number): HtmlPart {
  if (quota === undefined || quota.resetAtMs <= nowMs) return '';
  const { limit, remaining, period, resetAtMs } = quota;
  const words = `${limit - remaining} of ${limit}/${period}`;
  return html`<meter max="${limit}" value="${limit - remaining}" aria-label="${words}"></meter> ${words}, until ${localMomentHtml(resetAtMs)}`;
}

function inFlightTable(callers: CallersStatus['mostInFlight']): Html {
  return listTable(callers, [
    ['Caller', nameOf],
    ['Bucket', ({ bucket }) => bucket],
    ['In flight here', ({ inFlight }) => inFlight],
  ]);
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

function restrictionSection({ restrictions, unlistedRestrictions }: CallersStatus, nowMs: number): Html {
  if (restrictions.length === 0 && unlistedRestrictions === 0)
    return pageSection('Restrictions', '', 'None.');
  const table = listTable(restrictions, [
    ['Who', nameOf],
    ['Kind', ({ kind }) => KINDS[kind]],
    ['Why', ({ reason }) => reason],
    ['Since', ({ sinceMs }) => momentHtml(sinceMs, nowMs)],
    ['Until', ({ untilMs }) => momentHtml(untilMs, nowMs)],
  ]);
  const more = 'more, which are not listed here or come from other gateways.';
  const note = unlistedRestrictions === 0 ? '' : `${unlistedRestrictions} ${more}`;
  return pageSection('Restrictions', restrictions.length === 0 ? '' : table, note);
}

const KINDS: Readonly<Record<CallersStatus['restrictions'][number]['kind'], string>> = {
  address: 'address',
  principal: 'caller',
  webhook: 'address on a webhook',
};

function nameOf(name: CallerName): HtmlPart {
  return 'address' in name ? name.address : html`<code>${name.caller}</code>`;
}
