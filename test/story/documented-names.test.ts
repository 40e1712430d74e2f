import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/index.ts';
import { CHECKOUT, DOCUMENTS, type Document, documentNamed } from '../support/documents.ts';
import { freePort } from '../support/free-port.ts';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { keyPaths, valueWords } from '../support/schema-keys.ts';

/** The changelog names what was so at its time. */
const TODAY = DOCUMENTS.filter(({ name }) => name !== 'CHANGELOG.md');
const FOR_USERS = TODAY.filter(({ name }) => /^(?:README|SECURITY|docs\/)/.test(name));

/** Words of OAuth, of JWTs and of the contract's bodies that look like keys of the configuration. */
const OF_PROTOCOLS = [
  ...['offline_access', 'strategies.access_token', 'id_tokens'],
  ...[
    'code_challenge',
    'code_challenge_method',
    'response_type',
    'request_uri',
    'login_hint',
    'ui_locales',
    'kc_idp_hint',
  ],
  ...['invalid_grant', 'invalid_request', 'invalid_client', 'unauthorized_client'],
  ...[
    'invalid_token',
    'redirect_uri_mismatch',
    'login_required',
    'access_denied',
    'invalid_scope',
    'invalid_target',
  ],
  ...[
    'at_hash',
    'retry_after',
    'token_use',
    'id_token_hint',
    'token_type',
    'access_token',
    'access_token_issuer',
    'token_inactive',
    'granted_scopes',
    'service_role',
    'refresh_token_expires_in',
  ],
  ...['insufficient_scope', 'resource_metadata', 'realm_access', 'resource_access'],
  ...['authorization_servers', 'bearer_methods_supported', 'scopes_supported'],
  'tls_client_certificate_bound_access_tokens',
  ...['cnf.jkt', 'invalid_dpop_proof', 'use_dpop_nonce', 'dpop_signing_alg_values_supported'],
  ...['dpop_bound_access_tokens_required', 'dpop_jkt'],
];
/** Names of OpenTelemetry's semantic conventions. */
const OF_OPEN_TELEMETRY = [
  ...['service.name', 'http.request.method', 'http.route', 'http.response.status_code', 'error.type'],
  ...['network.protocol.name', 'network.protocol.version', 'server.address', 'server.port'],
  ...['network.peer.address', 'network.peer.port'],
  'http.request.resend_count',
];
/** Words of proxies that tell the certificates of their clients. */
const OF_PROXIES = [
  ...['forward_client_cert_details', 'pem'],
  ...['limit_req', 'limit_conn', 'ngx_http_limit_req_handler', 'local_ratelimit'],
];
/** Files of control groups, and settings of the kernel. */
const OF_THE_KERNEL = ['cpu.max', 'memory.max', 'net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem'];
/** Words of Prometheus' own configuration. */
const OF_PROMETHEUS = ['rule_files'];
/** Words of other gateways that docs/migrating.md has no example of. */
const OF_OTHERS = [
  ...['proxy_cache', 'set_real_ip_from', 'client_max_body_size', 'proxy_read_timeout', 'local_rate_limited'],
  ...['client_header_timeout', 'client_body_timeout', 'keepalive_timeout', 'large_client_header_buffers'],
  ...[
    'proxy_next_upstream',
    'access_log',
    'ssl_certificate',
    'ssl_certificate_key',
    'try_files',
    'auth_basic',
  ],
  ...['proxy_ssl_trusted_certificate', 'from_params', 'from_cookies', 'uri_param_names', 'cookie_names'],
  ...['circuit_breakers', 'xff_num_trusted_hops', 'trusted_ips', 'timeout'],
  ...[
    'proxy_redirect',
    'ip_hash',
    'least_conn',
    'max_fails',
    'split_clients',
    'sub_filter',
    'merge_slashes',
    'prefix_rewrite',
  ],
  ...['host_rewrite_literal', 'load_balancing_weight', 'outlier_detection', 'health_checks'],
  ...['fastcgi_pass', 'uwsgi_pass', 'scgi_pass'],
  ...['weighted_clusters', 'request_headers_to_add', 'response_headers_to_remove', 'direct_response'],
];

describe('the keys of the configuration', () => {
  it.each(FOR_USERS)('that $name names exist', async document => {
    const schemas = [
      ...(await Promise.all(['gateway', 'limits', 'keys', 'test'].map(schemaOf))),
      ...schemasBeside(document),
    ];
    const paths = schemas.flatMap(keyPaths).map(path => `.${path}.`);
    const words = new Set([
      ...schemas.flatMap(valueWords),
      ...OF_PROTOCOLS,
      ...OF_PROMETHEUS,
      ...OF_PROXIES,
      ...OF_THE_KERNEL,
      ...OF_OPEN_TELEMETRY,
      ...wordsBeside(document),
    ]);
    const isKey = (named: string) => paths.some(path => path.includes(`.${named}.`));
    expect(keysNamedIn(document).filter(named => !words.has(named) && !isKey(named))).toEqual([]);
  });

  it('that gateway.yaml may begin with are all in docs/configuration.md', async () => {
    const section = documentNamed('docs/configuration.md').section('## What is in gateway.yaml');
    const named = Array.from(section.matchAll(/^\| (`.*?) \|/gm), ([, cell = '']) =>
      cell.split(/, |`/),
    ).flat();
    const keys = Object.keys((await schemaOf('gateway')).properties ?? {});
    expect(named.filter(key => key !== '').toSorted()).toEqual(keys.toSorted());
  });
});

/** What looks like a key: `first_byte`, `timeouts.connect`, `cors` of `cors: false`, and what a piece of a file begins with. */
function keysNamedIn(document: Document): string[] {
  const { codeSpans } = document;
  const pieces = document.name === 'docs/migrating.md' ? [] : document.blockLines('yaml');
  const looksLikeKey = /^([a-z][a-z0-9]*(?:[_.][a-z0-9_]+)+|[a-z][a-z0-9_]*(?=: ))(?:: .*)?$/;
  const keys = [
    ...codeSpans.map(code => looksLikeKey.exec(code)?.[1] ?? ''),
    ...pieces.map(line => /^([a-z]\w*):/.exec(line)?.[1] ?? ''),
  ];
  return keys.filter(
    key => key !== '' && !/^(?:weir|nodejs|process)_/.test(key) && !/\.(?:yaml|log|txt)$/.test(key),
  );
}

/** The values of the chart, in the documents that are about it. */
function schemasBeside({ name }: Document) {
  if (!name.startsWith('docs/kubernetes')) return [];
  return [JSON.parse(readFileSync(join(CHECKOUT, 'helm/weir/values.schema.json'), 'utf8'))];
}

/** Words that are no keys, and exist: values of labels and, in the guide for those who come from elsewhere, theirs. */
function wordsBeside(document: Document): string[] {
  if (
    [
      'docs/alerts.md',
      'docs/dpop.md',
      'docs/log.md',
      'docs/monitoring.md',
      'docs/operations.md',
      'docs/providers.md',
      'docs/runbook-parts.md',
      'docs/runbook.md',
      'docs/tls.md',
      'docs/tokens.md',
    ].includes(document.name)
  )
    return stringsInSources();
  if (document.name !== 'docs/migrating.md') return [];
  const theirs = [...document.blockLines('nginx'), ...document.blockLines('yaml')].join('\n');
  return [...OF_OTHERS, ...theirs.split(/\W+/)];
}

describe('the metrics', () => {
  it('that the documents name are those of a running gateway, and monitoring.md names each', async () => {
    const gateway = await startWithEverything();
    const { text } = await gateway.admin('/metrics');
    const real = Array.from(text.matchAll(/^# TYPE (\w+) /gm), ([, name]) => name).toSorted();
    expect(real.length).toBeGreaterThan(30);
    for (const { name, text: written } of TODAY) {
      const named = Array.from(written.matchAll(/\b(?:weir|nodejs|process)_\w+/g), ([metric]) => metric);
      expect([name, named.filter(metric => !real.includes(metric))]).toEqual([name, []]);
    }
    const table = documentNamed('docs/monitoring.md').section('## Metrics');
    expect(real.filter(metric => metric?.startsWith('weir_') && !table.includes(`\`${metric}\``))).toEqual(
      [],
    );
  });
});

describe('the paths of the admin listener', () => {
  it('that docs/operations.md lists are served', async () => {
    const gateway = await startWithEverything();
    const section = documentNamed('docs/operations.md').section('## Health and status');
    const paths = Array.from(section.matchAll(/^\| `(\/\S+)` \|/gm), ([, path = '']) => path);
    expect(paths.length).toBeGreaterThan(3);
    for (const path of paths) expect([path, (await gateway.admin(path)).status]).not.toEqual([path, 404]);
  });
});

describe('the commands', () => {
  it.each(TODAY)('that $name names exist, with their options', async document => {
    for (const words of commandsIn(document)) {
      const [command = '', ...rest] = words;
      const help = await helpOf(command);
      expect([command, help.code]).toEqual([command, 0]);
      const options = rest.filter(word => /^--?[a-z]/.test(word));
      expect([words.join(' '), options.filter(option => !help.words.has(option))]).toEqual([
        words.join(' '),
        [],
      ]);
    }
  });

  it.each(TODAY)('of npm and node that $name names exist', ({ text }) => {
    const { scripts } = JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8'));
    const run = Array.from(
      text.matchAll(/\bnpm (?:run (?:(?:--silent|-s) )?([\w:-]+)|(start|test)\b)/g),
      ([, a, b]) => a ?? b,
    );
    expect(run.filter(name => name === undefined || !Object.hasOwn(scripts, name))).toEqual([]);
    const started = Array.from(
      text.matchAll(/\bnode ((?:src|scripts|bench)\/\S+\.ts)/g),
      ([, file = '']) => file,
    );
    expect(started.filter(file => !existsSync(join(CHECKOUT, file)))).toEqual([]);
  });

  it('end with the exit codes that docs/operations.md lists', async () => {
    const codes = (text: string) => text.match(/\d+/g) ?? [];
    const section = documentNamed('docs/operations.md').section('## Starting and stopping');
    const listed = Array.from(section.matchAll(/^\| ([\d, ]+) \|/gm), ([, cell = '']) => codes(cell)).flat();
    const { text } = await helpOf('serve');
    const real = Array.from(text.matchAll(/^ {2}(\d[\d, ]*?) {2,}/gm), ([, cell = '']) => codes(cell)).flat();
    expect(listed).toEqual(real);
    expect(listed.length).toBeGreaterThan(4);
  });
});

/** The words behind `weir`, or behind what stands for it in a checkout and in a package. */
function commandsIn(document: Document): string[][] {
  const lines = [...document.codeSpans, ...document.blockLines(''), ...document.blockLines('sh')];
  // In Kubernetes "weir" is also the name of a release: "helm upgrade weir helm/weir".
  const own = lines.filter(line => !/^ *(?:helm|kubectl) /.test(line));
  const commands = own.map(line => /(?:(?:^|\s)weir(?: --)? |\bmain\.[jt]s[", ]+)([a-z][^"]*)/.exec(line));
  return commands.flatMap(found => (found?.[1] === undefined ? [] : [found[1].split(/\s+/)]));
}

async function helpOf(command: string) {
  let text = '';
  const out = (written: string) => {
    text += written;
  };
  const code = await runCommandLine([command, '--help'], { env: {}, out, err: out });
  return { code, text, words: new Set(text.split(/[\s,]+/)) };
}

/** The JSON Schema of a file, as the command prints it. */
async function schemaOf(file: string): Promise<Parameters<typeof keyPaths>[0]> {
  let text = '';
  const out = (written: string) => {
    text += written;
  };
  await runCommandLine(['schema', file], { env: {}, out, err: out });
  return JSON.parse(text);
}

/** A gateway with all parts that have metrics; its Redis is not there. */
async function startWithEverything(): Promise<LocalGateway> {
  const store = { redis: `redis://127.0.0.1:${await freePort()}` };
  return startGateway({ upstreamPort: await freePort(), config: { store, workers: 2 } });
}

function stringsInSources(): string[] {
  const files = readdirSync(join(CHECKOUT, 'src'), { recursive: true, encoding: 'utf8' });
  const sources = files
    .filter(file => file.endsWith('.ts'))
    .map(file => readFileSync(join(CHECKOUT, 'src', file), 'utf8'));
  return Array.from(sources.join('\n').matchAll(/'(\w+)'/g), ([, word = '']) => word);
}
