import { createHash } from 'node:crypto';
import {
  areWorkersShown,
  descriptorsInWords,
  exceedsDescriptors,
  exceedsMemory,
  memoryInWords,
  workersInWords,
} from '../../config/index.ts';
import { formatDuration } from '../../core/index.ts';
import type { Column, HtmlPart, NamedValue } from './html.ts';
import {
  factTable,
  Html,
  html,
  lined,
  listTable,
  momentHtml,
  pageSection,
  SCRIPT,
  STYLE,
  span,
} from './html.ts';
import { bucketSection, callerSections, concurrencySection } from './limit-sections.ts';
import type { GatewayStatus } from './status.ts';

/**
 * Allows the page its own style and script and to fetch itself; forbids everything else, even if a name on the page contains
 * markup.
 */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src '${hashOf(STYLE)}'`,
  `script-src '${hashOf(SCRIPT)}'`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Makes browsers without JavaScript reload the page. */
const REFRESH_SECONDS = 5;

export function statusAsPage(status: GatewayStatus): string {
  const word = wordFor(status);
  const { version, host, uptimeSeconds } = status;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Weir on ${host}: ${word}</title>
<style>${new Html(STYLE)}</style>
<noscript><meta http-equiv="refresh" content="${REFRESH_SECONDS}"></noscript>
</head>
<body>
<header>
<h1>Weir</h1>
<p id="word" role="status" class="${word === 'ready' ? 'well' : 'ill'}">${word}</p>
<p id="facts">${host}, version ${version}, up ${span(uptimeSeconds * 1_000)}</p>
<p id="live"></p>
</header>
<main>
${proxySection(status)}${defaultSection(status)}${bucketSection(status)}${concurrencySection(status)}${callerSections(status)}${upstreamSection(status)}${errorSection(status)}${workerSection(status)}${logSection(status)}${configurationSection(status)}${reloadSection(status)}${providerSections(status)}${storeSection(status)}${stateSection(status)}${certificateSection(status)}</main>
<script>${new Html(SCRIPT)}</script>
</body>
</html>
`.text;
}

function wordFor({
  notReady,
  configuration: { lastFailure, waiting, pendingRestart },
}: GatewayStatus): string {
  if (notReady !== null) return `not ready: ${notReady}`;
  if (lastFailure !== null && !lastFailure.mended) return 'ready; the configuration files have errors';
  if (waiting !== null) return 'ready; a new configuration waits';
  return pendingRestart.length > 0 ? 'ready; a change waits for a restart' : 'ready';
}

/** A hash as Content-Security-Policy writes it (Content Security Policy Level 3, 2.3.1). */
function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

const NOTICED = {
  watch: 'immediately',
  poll: 'within seconds: the files cannot be watched, so they are polled',
  off: 'never',
} as const;

type Revocations = NonNullable<GatewayStatus['provider']>['revocations'];

function configurationSection({
  configuration: now,
  node,
  workers,
  memory,
  descriptors,
  traffic,
  atMs,
  startedAtMs,
}: GatewayStatus): Html {
  return pageSection(
    'Configuration',
    factTable([
      ['Generation', [`${now.generation}, since `, momentHtml(now.sinceMs, atMs)]],
      ['Files', now.files.join('\n')],
      ['Hash', html`<code>${now.hash}</code>`],
      now.lastChanges.length > 0 && ['Last changes', now.lastChanges.join('\n')],
      ['Changes are noticed', NOTICED[now.reload]],
      ...notInUse(now, atMs),
      ['Process started', momentHtml(startedAtMs, atMs)],
      ['Node.js', node],
      ...(areWorkersShown(workers) ? [['Workers', workersInWords(workers)] satisfies NamedValue] : []),
      ['Memory with all caps full', toldHtml(memoryInWords(memory), exceedsMemory(memory))],
      [
        'File descriptors with all caps full',
        toldHtml(descriptorsInWords(descriptors), exceedsDescriptors(descriptors)),
      ],
      ['Client connections', traffic.connections],
      ['Requests in flight', traffic.requestsInFlight],
    ]),
  );
}

function toldHtml(words: string, isTooMuch: boolean): HtmlPart {
  return isTooMuch ? html`<b class="ill">${words}</b>` : words;
}

function reloadSection({ configuration: { reloads }, atMs }: GatewayStatus): Html | string {
  if (reloads.length === 0) return '';
  const table = listTable(reloads, [
    ['Outcome', each => (each.outcome === 'applied' ? `generation\u00a0${each.generation}` : 'refused')],
    ['When', each => momentHtml(each.atMs, atMs)],
    ['What', reload => lined(resultOf(reload).join('\n'))],
  ]);
  return pageSection('Reloads', table);
}

function resultOf(reload: GatewayStatus['configuration']['reloads'][number]): string[] {
  if (reload.outcome === 'refused')
    return reload.moreErrors === 0 ? [reload.error] : [reload.error, `and ${reload.moreErrors} more`];
  const { changes, moreChanges } = reload;
  if (changes.length === 0) return ['nothing that callers notice'];
  return moreChanges === 0 ? [...changes] : [...changes, `and ${moreChanges} more`];
}

/** Shows configuration that is in the files but not in effect. */
function notInUse(
  { waiting, pendingRestart, lastFailure }: GatewayStatus['configuration'],
  nowMs: number,
): NamedValue[] {
  const facts: NamedValue[] = pendingRestart.map(({ key, running, wanted }) => [
    'Waiting for a restart',
    `${key}: ${running} is running, ${wanted} is configured`,
  ]);
  if (waiting !== null) {
    const { generation, hash, sinceMs } = waiting;
    facts.unshift([
      'Waiting for its provider',
      [`generation ${generation}, hash ${hash}, since `, momentHtml(sinceMs, nowMs)],
    ]);
  }
  if (lastFailure !== null) {
    const { mended, atMs, errors } = lastFailure;
    const lines = errors.map(error => [html`<br>`, error]);
    facts.push([
      mended ? 'Last refused' : 'Refused',
      [momentHtml(atMs, nowMs), mended ? ', valid since' : '', lines],
    ]);
  }
  return facts;
}

/** A section with a row for each of these; none if there are none. */
function sectionOf<Item>(title: string, all: readonly Item[], row: (item: Item) => NamedValue, note = '') {
  return all.length === 0 ? '' : pageSection(title, factTable(all.map(row)), note);
}

function proxySection({ unlistedProxies, atMs }: GatewayStatus): Html | string {
  const title = 'Proxies missing in trusted_proxies';
  return sectionOf(title, unlistedProxies, ({ address, message, sinceMs }) => [
    address,
    [message, html`<br>since `, momentHtml(sinceMs, atMs)],
  ]);
}

function defaultSection({ defaultRefusals, atMs }: GatewayStatus): Html | string {
  return sectionOf('Limits that no file names', defaultRefusals, ({ callerClass, message, sinceMs }) => [
    callerClass,
    [message, html`<br>since `, momentHtml(sinceMs, atMs)],
  ]);
}

function providerSections({ providers, state, atMs }: GatewayStatus): readonly Html[] {
  if (providers.length === 0) return [pageSection('Identity provider', factTable([['Configured', 'none']]))];
  return providers.map(({ name, issuer, endpointsKnown, keys, keysAsOfMs, revocations }) =>
    pageSection(
      name === null ? 'Identity provider' : `Identity provider ${name}`,
      factTable([
        ['Issuer', issuer],
        ['Endpoints', endpointsKnown ? 'known' : 'not known yet'],
        ['Keys', keysAsOfMs === null ? 'none yet' : [`${keys}, as of `, momentHtml(keysAsOfMs, atMs)]],
        ...revocationFacts(revocations, state, atMs),
      ]),
    ),
  );
}

function revocationFacts(
  { notBeforeMs, subjects, sessions, keptForSeconds, keptBy, outliveRestart }: Revocations,
  [stateFile]: GatewayStatus['state'],
  nowMs: number,
): (NamedValue | false)[] {
  const kept = `for ${formatDuration(keptForSeconds * 1_000)} (${keptBy})`;
  return [
    ['Tokens refused if older than', notBeforeMs === null ? 'no moment' : momentHtml(notBeforeMs, nowMs)],
    ['Sessions that ended', `${sessions}, kept ${kept}`],
    ['Users with older tokens refused', `${subjects}, kept ${kept}`],
    !outliveRestart && [
      'A restart',
      stateFile === undefined
        ? 'forgets which tokens are revoked: there is neither Redis nor a folder of state'
        : 'forgets which tokens were revoked lately: the state file is not written',
    ],
  ];
}

function storeSection({ store }: GatewayStatus): Html {
  return pageSection(
    'Limits',
    factTable([
      ['Counted in', `${store.kind}: ${store.state}`],
      ['Counters', store.keys],
      ['Counters evicted for lack of room', store.evictions],
      ['Restrictions', store.restrictions],
      store.behind && ['Not known here yet', 'what other gateways have revoked and restricted'],
    ]),
  );
}

function stateSection({ state, atMs }: GatewayStatus): Html | string {
  const failing = state.filter(({ cause }) => cause !== null);
  const row = ({ file, cause, sinceMs }: GatewayStatus['state'][number]): NamedValue => [
    file,
    [`cannot be written: ${cause}, since `, sinceMs === null ? '' : momentHtml(sinceMs, atMs)],
  ];
  return sectionOf('Kept across a restart', failing, row, 'A restart forgets what has happened since.');
}

/** Reports dropped log lines; nothing if there are none. */
function logSection({ log: { linesDropped, trouble }, atMs }: GatewayStatus): Html | string {
  if (linesDropped === 0 && trouble === null) return '';
  const state =
    trouble === null ? 'yes' : [`no: ${trouble.cause}, since `, momentHtml(trouble.sinceMs, atMs)];
  return pageSection(
    'Log',
    factTable([
      ['Written', state],
      ['Lines dropped', linesDropped],
    ]),
  );
}

function certificateSection({ certificates, atMs }: GatewayStatus): Html | string {
  return sectionOf('Certificates', certificates, ({ listener, certificate, notAfterMs }) => [
    `${listener}: ${certificate}`,
    ['valid until ', momentHtml(notAfterMs, atMs)],
  ]);
}

function upstreamSection({ upstreams, atMs }: GatewayStatus): HtmlPart {
  const table = listTable(upstreams, [
    ['Name', ({ name }) => name],
    ['Address', ({ address }) => address],
    ['Connections', ({ connections }) => connections],
    ['Requests in flight', ({ requestsInFlight }) => requestsInFlight],
    ['Errors, last minute', ({ errors }) => errors?.lastMinute ?? 0],
    ['Errors, last hour', ({ errors }) => errors?.lastHour ?? 0],
    ['Last error', ({ errors }) => lastErrorHtml(errors, atMs)],
  ]);
  return [pageSection('Upstreams', table), endpointSection(upstreams)];
}

function lastErrorHtml(errors: GatewayStatus['upstreams'][number]['errors'], nowMs: number): HtmlPart {
  return errors === null ? 'none' : [momentHtml(errors.lastAtMs, nowMs), html`<br>`, errors.cause ?? ''];
}

const ENDPOINT_COLUMNS = [
  ...['Upstream', 'Endpoint', 'State', 'Weight', 'Connections', 'Requests in flight'],
  'What was wrong',
];

function endpointSection(upstreams: GatewayStatus['upstreams']): HtmlPart {
  const shown = upstreams.filter(
    ({ endpoints, lookupFault }) =>
      endpoints.length !== 1 || lookupFault !== null || endpoints.some(({ state }) => state !== 'used'),
  );
  if (shown.every(({ endpoints, lookupFault }) => endpoints.length === 0 && lookupFault === null)) return '';
  const rows = shown.flatMap(({ name, endpoints, endpointCount, allEndpointsOut, lookupFault }) => [
    ...endpoints.map(({ address, state, weight, connections, requestsInFlight, why }) => [
      ...[name, address, allEndpointsOut ? `${state}, used since all are out` : state, weight],
      ...[connections, requestsInFlight, why ?? ''],
    ]),
    ...(endpointCount > endpoints.length
      ? [[name, `and ${endpointCount - endpoints.length} more`, '', '', '', '', '']]
      : []),
    ...(lookupFault === null ? [] : [[name, 'lookup of the name', 'failed', '', '', '', lookupFault]]),
  ]);
  const columns = ENDPOINT_COLUMNS.map((heading, at): Column<HtmlPart[]> => [heading, row => row[at] ?? '']);
  return pageSection('Endpoints', listTable(rows, columns));
}

/** Shows the workers; nothing if there is only one. */
function workerSection({ workers: { each }, atMs }: GatewayStatus): Html | string {
  if (each.length === 0) return '';
  const table = listTable(each, [
    ['Worker', ({ worker }) => worker],
    ['State', ({ up, startedAtMs }) => stateOf(up, startedAtMs)],
    ['Started', ({ startedAtMs }) => (startedAtMs === null ? '' : momentHtml(startedAtMs, atMs))],
    ['Replaced', ({ replacements }) => replacements],
    ['Requests', ({ requests }) => requests],
    ['Connections', ({ connections }) => connections],
    ['Requests in flight', ({ requestsInFlight }) => requestsInFlight],
    ['Event loop late by, ms', ({ eventLoopDelayMs }) => eventLoopDelayMs ?? ''],
  ]);
  return pageSection('Workers', table);
}

function stateOf(up: boolean, startedAtMs: number | null): HtmlPart {
  if (up) return 'serves';
  return html`<b class="ill">${startedAtMs === null ? 'is being replaced' : 'does not answer'}</b>`;
}

function errorSection({ errors, atMs }: GatewayStatus): Html {
  if (errors.length === 0) return pageSection('Errors', '', 'None since the start.');
  const table = listTable(errors, [
    ['Kind', ({ kind }) => kind],
    ['Last minute', ({ lastMinute }) => lastMinute],
    ['Last hour', ({ lastHour }) => lastHour],
    ['Since the start', ({ count }) => count],
    ['Last', ({ lastAtMs }) => momentHtml(lastAtMs, atMs)],
    ['Cause', ({ cause }) => cause ?? ''],
  ]);
  return pageSection('Errors', table);
}
