import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, type Part, startPart } from '../world/part.ts';
import { address, COMMAND, envoy, router, TYPES } from './envoy.ts';
import { type Surroundings, versionOf } from './peer.ts';
import { LISTENS, limitsFile, MEMORY_ENVIRONMENT, NODE_FLAGS, weirMain } from './weir.ts';

/** Routes, each with a limit of its own, of which a reload changes one. */
export const ROUTES = 5_000;
const NUMBERS = Array.from({ length: ROUTES }, (_, route) => route);

export function pathOf(route: number): string {
  return `/v1/service-${route}/`;
}

/** A gateway with many limits, one of which changes while it serves. */
export interface Reloading extends Part {
  /** Changes the limit of the first route. Resolves once it applies, as far as the gateway says so. */
  reload(limit: number): Promise<void>;
  /** How long the last reload kept a thread that serves from its clients, in milliseconds; null: it does not say. */
  longestTurnMs(): Promise<number | null>;
}

export interface Reloader {
  readonly name: string;
  readonly install: string;
  version(): string | null;
  start(surroundings: Surroundings, threads: number): Promise<Reloading>;
}

/** The most that a reload of Weir may take, milliseconds: seconds, but minutes where the machine has little time for it. */
const RELOAD_MS = 300_000;
/** For those who do not say when a reload is done. */
const PAUSE_MS = 500;
const UNKNOWN = async () => null;

/**
 * Writes the limit of the first route into a text made beforehand: whoever makes the text of 5,000 routes stands still meanwhile, and the
 * clients are in this process.
 */
function withLimit(textOf: (limit: number) => string): (limit: number) => string {
  const text = textOf(PLACE);
  return limit => text.replaceAll(String(PLACE), String(limit));
}

/** Stands for the limit; no route has it. */
const PLACE = 987_654;

const weir: Reloader = {
  name: 'Weir',
  install: 'npm ci',
  version: () => 'this checkout',
  async start(surroundings, threads) {
    const { directory, port, upstreamPort } = surroundings;
    const admin = await freePort();
    const file = join(directory, 'gateway.yaml');
    await writeFile(
      file,
      JSON.stringify({
        listen: { http: `127.0.0.1:${port}`, admin: `127.0.0.1:${admin}` },
        workers: threads,
        // All clients have one address.
        upstreams: { api: { url: `http://127.0.0.1:${upstreamPort}`, max_requests: 20_000 } },
        routes: NUMBERS.map(route => ({
          path: `${pathOf(route)}**`,
          upstream: 'api',
          authentication: 'none',
        })),
        limits: 'limits.yaml',
        caps: { connections_per_address: 20_000, requests_per_address: 10_000, event_loop_delay: 'off' },
        log: { access: false },
      }),
    );
    const textOf = withLimit(limit =>
      JSON.stringify({
        global: 'off',
        buckets: Object.fromEntries(
          NUMBERS.map(route => [`b${route}`, { address: `${route === 0 ? limit : 60_000}/1s` }]),
        ),
        routes: Object.fromEntries(NUMBERS.map(route => [`${pathOf(route)}**`, `b${route}`])),
      }),
    );
    const write = (limit: number) => writeFile(limitsFile(surroundings), textOf(limit));
    await write(60_000);
    const outputFile = join(directory, 'weir.log');
    const parameters = [...NODE_FLAGS, await weirMain(), 'serve', '--config', file];
    const program = { command: process.execPath, parameters, environment: MEMORY_ENVIRONMENT };
    const part = await startPart({ ...program, outputFile, says: LISTENS }, port);
    return {
      ...part,
      reload: async limit => {
        const before = readFileSync(outputFile, 'utf8').length;
        await write(limit);
        process.kill(part.pid, 'SIGHUP');
        const said = () => readFileSync(outputFile, 'utf8').slice(before);
        const endMs = performance.now() + RELOAD_MS;
        while (!said().includes('bucket b0')) {
          if (!part.isAlive() || performance.now() > endMs)
            throw new Error(`Weir has not taken a reload: ${said() || 'it logged nothing'}`);
          await sleep(20);
        }
      },
      longestTurnMs: async () => {
        // This metric alone: all of them are thousands of series.
        const name = 'weir_config_reload_longest_turn_seconds';
        const text = await (await fetch(`http://127.0.0.1:${admin}/metrics?name[]=${name}`)).text();
        const [, seconds] = /^weir_config_reload_longest_turn_seconds (\S+)/m.exec(text) ?? [];
        return seconds === undefined ? null : Number(seconds) * 1_000;
      },
    };
  },
};

const nginx: Reloader = {
  name: 'nginx (reload)',
  install: 'apt-get install nginx',
  version: () => versionOf('nginx', '-v'),
  async start({ directory, port, upstreamPort }, threads) {
    const file = join(directory, 'nginx.conf');
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    const zone = (route: number, limit: number) =>
      `limit_req_zone $binary_remote_addr zone=b${route}:32k rate=${route === 0 ? limit : 60_000}r/s;`;
    const location = (route: number) =>
      `location ${pathOf(route)} { limit_req zone=b${route} burst=60000 nodelay; proxy_pass http://api; }`;
    const textOf = withLimit(
      limit =>
        `daemon off;
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes ${threads};
pid ${directory}/nginx.pid;
error_log stderr emerg;
events { worker_connections 4096; }
http {
  access_log off;
${temporary.map(kind => `  ${kind}_temp_path ${directory};`).join('\n')}
  keepalive_requests 1000000000;
  ${NUMBERS.map(route => zone(route, limit)).join('\n  ')}
  limit_req_status 429;
  upstream api { server 127.0.0.1:${upstreamPort}; keepalive 64; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    ${NUMBERS.map(location).join('\n    ')}
  }
}
`,
    );
    const write = (limit: number) => writeFile(file, textOf(limit));
    await write(60_000);
    const parameters = ['-c', file, '-e', 'stderr', '-p', directory];
    const part = await startPart({ command: 'nginx', parameters }, port);
    const reload = async (limit: number) => {
      await write(limit);
      process.kill(part.pid, 'SIGHUP');
      await sleep(PAUSE_MS);
    };
    return { ...part, reload, longestTurnMs: UNKNOWN };
  },
};

/** HAProxy keeps the limits in a map: it starts anew with the map (`-sf`), or changes an entry of it while it runs. */
function haproxy(name: string, isRuntime: boolean): Reloader {
  return {
    name,
    install: 'apt-get install haproxy',
    version: () => versionOf('haproxy', '-v'),
    async start({ directory, port, upstreamPort }, threads) {
      const [file, map, socket] = ['haproxy.cfg', 'limits.map', 'haproxy.sock'].map(each =>
        join(directory, each),
      ) as [string, string, string];
      const textOf = withLimit(limit =>
        NUMBERS.map(route => `${pathOf(route)} ${route === 0 ? limit : 60_000}\n`).join(''),
      );
      const write = (limit: number) => writeFile(map, textOf(limit));
      await write(60_000);
      await writeFile(
        file,
        `global
  nbthread ${threads}
  stats socket ${socket} level admin expose-fd listeners
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  http-reuse always
frontend gateway
  bind 127.0.0.1:${port} backlog 4096
  stick-table type ip size 100k expire 10s store http_req_rate(1s)
  http-request track-sc0 src
  http-request set-var(txn.limit) path,map_beg(${map},60000)
  http-request deny deny_status 429 if { sc_http_req_rate(0),sub(txn.limit) gt 0 }
  default_backend api
backend api
  server api 127.0.0.1:${upstreamPort}
`,
      );
      const part = await startPart({ command: 'haproxy', parameters: ['-W', '-f', file, '-q'] }, port);
      const reload = async (limit: number) => {
        if (isRuntime) return command(socket, `set map ${map} ${pathOf(0)} ${limit}\n`);
        await write(limit);
        process.kill(part.pid, 'SIGUSR2');
        await sleep(PAUSE_MS);
      };
      return { ...part, reload, longestTurnMs: UNKNOWN };
    },
  };
}

/** Envoy reads its routes, each with a limit of its own, from a file again once another one is moved in its place. */
const envoyByFile: Reloader = {
  name: 'Envoy (file xDS)',
  install: envoy.install,
  version: envoy.version,
  async start({ directory, port, upstreamPort }, threads) {
    const [file, routes] = ['envoy.json', 'routes.json'].map(each => join(directory, each)) as [
      string,
      string,
    ];
    const textOf = withLimit(limit => JSON.stringify(routesWith(limit)));
    const write = async (limit: number) => {
      await writeFile(`${routes}.new`, textOf(limit));
      await rename(`${routes}.new`, routes);
    };
    await write(60_000);
    const adminPort = await freePort();
    await writeFile(file, JSON.stringify(envoyWithRoutes(routes, { port, adminPort, upstreamPort })));
    const parameters = [
      '-c',
      file,
      '--concurrency',
      `${threads}`,
      '--disable-hot-restart',
      '--log-level',
      'error',
    ];
    const part = await startPart({ command: COMMAND, parameters }, port);
    const loads = async () => {
      const filter = 'http.gateway.rds.routes.config_reload$';
      const text = await (await fetch(`http://127.0.0.1:${adminPort}/stats?filter=${filter}`)).text();
      return Number(text.split(': ')[1]);
    };
    const reload = async (limit: number) => {
      const before = await loads();
      await write(limit);
      while ((await loads()) === before) await sleep(20);
    };
    return { ...part, reload, longestTurnMs: UNKNOWN };
  },
};

const LOCAL_LIMIT = 'envoy.filters.http.local_ratelimit';

function routesWith(limit: number) {
  const limitOf = (perSecond: number) => ({
    [LOCAL_LIMIT]: {
      ...localLimit(),
      token_bucket: { max_tokens: perSecond, tokens_per_fill: perSecond, fill_interval: '1s' },
      filter_enabled: WHOLE,
      filter_enforced: WHOLE,
    },
  });
  const routes = NUMBERS.map(route => ({
    match: { prefix: pathOf(route) },
    route: { cluster: 'api', timeout: '0s' },
    typed_per_filter_config: limitOf(route === 0 ? limit : 60_000),
  }));
  const type = 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration';
  const virtual_hosts = [{ name: 'all', domains: ['*'], routes }];
  return { resources: [{ '@type': type, name: 'routes', virtual_hosts }] };
}

const WHOLE = { default_value: { numerator: 100, denominator: 'HUNDRED' } };

function localLimit() {
  return { '@type': `${TYPES}.filters.http.local_ratelimit.v3.LocalRateLimit`, stat_prefix: 'limit' };
}

function envoyWithRoutes(
  path: string,
  { port, adminPort, upstreamPort }: Record<'port' | 'adminPort' | 'upstreamPort', number>,
) {
  const manager = {
    '@type': `${TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: 'gateway',
    rds: { route_config_name: 'routes', config_source: { path_config_source: { path } } },
    http_filters: [{ name: LOCAL_LIMIT, typed_config: localLimit() }, router()],
  };
  const filters = [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }];
  const endpoints = [{ lb_endpoints: [{ endpoint: { address: address(upstreamPort) } }] }];
  const load_assignment = { cluster_name: 'api', endpoints };
  const thresholds = [{ max_connections: 20_000, max_pending_requests: 20_000, max_requests: 20_000 }];
  return {
    node: { id: 'bench', cluster: 'bench' },
    admin: { address: address(adminPort) },
    static_resources: {
      listeners: [{ name: 'gateway', address: address(port), filter_chains: [{ filters }] }],
      clusters: [
        {
          name: 'api',
          type: 'STATIC',
          connect_timeout: '5s',
          circuit_breakers: { thresholds },
          load_assignment,
        },
      ],
    },
  };
}

/** Resolves once the answer has come. */
function command(socket: string, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    connect(socket)
      .on('error', reject)
      .on('close', () => resolve())
      .resume()
      .end(text);
  });
}

export const RELOADERS: readonly Reloader[] = [
  weir,
  nginx,
  haproxy('HAProxy (-sf)', false),
  haproxy('HAProxy (map)', true),
  envoyByFile,
];
