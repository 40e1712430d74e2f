import { type GatewayStatus, isoTime } from './status.ts';

/** The status as one page without scripts. Escapes everything that comes from outside. */
export function statusAsPage(status: GatewayStatus): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Weir: ${escapeHtml(wordFor(status))}</title>
<style>${STYLE}</style>
<h1>Weir</h1>
<p class="${isWell(status) ? 'well' : 'ill'}">${escapeHtml(wordFor(status))}</p>
${configuration(status)}${proxies(status)}
${provider(status)}
${store(status)}${certificates(status)}
${upstreams(status)}
</html>
`;
}

const STYLE = `
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
h2 { font-size: 1.1rem; margin: 1.5rem 0 .3rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .15rem 1rem .15rem 0; border-bottom: 1px solid #8884; }
th { font-weight: 600; }
td { overflow-wrap: anywhere; }
.well { color: #167a33; } .ill { color: #b3261e; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd; } .well { color: #6fcf8a; } .ill { color: #f2867f; } }
`;

function wordFor({ notReady, configuration }: GatewayStatus): string {
  if (notReady !== null) return `not ready: ${notReady}`;
  if (isFailing(configuration)) return 'ready; the configuration files have errors';
  if (configuration.waiting !== null) return 'ready; a new configuration waits';
  return configuration.pendingRestart.length > 0 ? 'ready; a change waits for a restart' : 'ready';
}

function isWell(status: GatewayStatus): boolean {
  return wordFor(status) === 'ready';
}

function isFailing({ lastFailure }: GatewayStatus['configuration']): boolean {
  return lastFailure !== null && !lastFailure.mended;
}

const NOTICED = {
  watch: 'immediately',
  poll: 'within seconds: the files cannot be watched, so they are polled',
  off: 'never',
} as const;

function configuration({ configuration: now, startedAtMs, traffic }: GatewayStatus): string {
  const { waiting, lastFailure } = now;
  return section('Configuration', [
    ['Generation', `${now.generation}, since ${isoTime(now.sinceMs)}`],
    ['Hash', now.hash],
    ['Changes are noticed', NOTICED[now.reload]],
    ...(waiting === null
      ? []
      : [
          row(
            'Waiting for its provider',
            `generation ${waiting.generation}, hash ${waiting.hash}, since ${isoTime(waiting.sinceMs)}`,
          ),
        ]),
    ...now.pendingRestart.map(({ key, running, wanted }) =>
      row('Waiting for a restart', `${key}: ${running} is running, ${wanted} is configured`),
    ),
    ...(lastFailure === null
      ? []
      : [
          row(
            lastFailure.mended ? 'Last refused' : 'Refused',
            [
              `${isoTime(lastFailure.atMs)}${lastFailure.mended ? ', valid since' : ''}`,
              ...lastFailure.errors,
            ].join('\n'),
          ),
        ]),
    ['Process started', isoTime(startedAtMs)],
    ['Client connections', String(traffic.connections)],
    ['Requests in flight', String(traffic.requestsInFlight)],
  ]);
}

function proxies({ unlistedProxies: all }: GatewayStatus): string {
  if (all.length === 0) return '';
  const rows = all.map(({ address, sinceMs, message }) =>
    row(address, `${message}\nsince ${isoTime(sinceMs)}`),
  );
  return `\n${section('Proxies missing in trusted_proxies', rows)}`;
}

function provider({ provider: facts }: GatewayStatus): string {
  if (facts === null) return section('Identity provider', [['Configured', 'none']]);
  return section('Identity provider', [
    ['Issuer', facts.issuer],
    ['Endpoints', facts.endpointsKnown ? 'known' : 'not known yet'],
    ['Keys', facts.keysAsOfMs === null ? 'none yet' : `${facts.keys}, as of ${isoTime(facts.keysAsOfMs)}`],
  ]);
}

function store({ store: facts }: GatewayStatus): string {
  return section('Limits', [
    ['Counted in', `${facts.kind}: ${facts.state}`],
    ['Counters', String(facts.keys)],
    ['Counters evicted for lack of room', String(facts.evictions)],
    ['Restrictions', String(facts.restrictions)],
  ]);
}

function certificates({ certificates: all }: GatewayStatus): string {
  if (all.length === 0) return '';
  const rows = all.map(({ listener, certificate, notAfterMs }) =>
    row(`${listener}: ${certificate}`, `valid until ${isoTime(notAfterMs)}`),
  );
  return `\n${section('Certificates', rows)}`;
}

function upstreams({ upstreams: all }: GatewayStatus): string {
  const rows = all.map(
    ({ name, address, connections, requestsInFlight }) =>
      `<tr>${[name, address, connections, requestsInFlight].map(cell => `<td>${escapeHtml(String(cell))}</td>`).join('')}</tr>`,
  );
  return `<h2>Upstreams</h2>
<table>
<tr><th>Name</th><th>Address</th><th>Connections</th><th>Requests in flight</th></tr>
${rows.join('\n')}
</table>`;
}

type Row = readonly [name: string, text: string];

function row(name: string, text: string): Row {
  return [name, text];
}

function section(title: string, rows: readonly Row[]): string {
  const lines = rows.map(([name, text]) => `<tr><th>${escapeHtml(name)}</th><td>${lined(text)}</td></tr>`);
  return `<h2>${escapeHtml(title)}</h2>\n<table>\n${lines.join('\n')}\n</table>`;
}

function lined(text: string): string {
  return text.split('\n').map(escapeHtml).join('<br>');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => ENTITIES[character] ?? '');
}
