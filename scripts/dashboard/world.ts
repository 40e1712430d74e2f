import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, type Part, startPart } from '../../bench/world/part.ts';
import { TestAuthority } from '../../test/support/certificates.ts';
import { ensureInstalled } from '../../test/support/installed.ts';
import { startProvider } from './provider.ts';
import { startApi, startCalls, startReports } from './upstreams.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

/** A gateway with all that a dashboard shows, and a Prometheus that scrapes it. */
export interface World {
  readonly prometheus: string;
  readonly port: number;
  readonly grpcPort: number;
  readonly ca: string;
  /** A token of this user; expired: it was good an hour ago. */
  token(user: string, expired?: boolean): string;
  /** Has the provider say that this session ended; to another client, it is refused. */
  logOut(sid: string, client?: string): Promise<unknown>;
  readonly reports: { up: boolean };
  readonly provider: { up: boolean };
  writeLimits(text: string): Promise<void>;
  readonly redis: { stop(): Promise<void>; start(): Promise<void> };
  stop(): Promise<void>;
}

export const LIMITS = `global: off
buckets:
  orders: { user: 300/10s, bot: 60/10s }
  search: { user: 8/5s }
routes:
  GET /orders: orders
  GET /search: search
invalid_requests: { limit: 60/1m, restrict_for: 40s }
`;

export async function startWorld(scrapeSeconds: number): Promise<World> {
  ensureInstalled({ command: 'prometheus', versionArgs: ['--version'], packages: ['prometheus'] });
  const folder = await mkdtemp(join(tmpdir(), 'weir-dashboard-'));
  const ports = {
    http: await freePort(),
    grpc: await freePort(),
    admin: await freePort(),
    redis: await freePort(),
    prometheus: await freePort(),
    api: await freePort(),
    reports: await freePort(),
    calls: await freePort(),
  };
  const provider = await startProvider();
  startApi(ports.api);
  const reports = startReports(ports.reports);
  startCalls(ports.calls);
  const redis = await startRedisAt(ports.redis);
  const ca = await writeGatewayFiles(folder, ports, provider.url);
  const gateway = await startPart(
    {
      command: process.execPath,
      parameters: [MAIN, 'serve', join(folder, 'gateway.yaml')],
      outputFile: join(folder, 'weir.log'),
    },
    ports.http,
  );
  const prometheus = await startPrometheus(folder, ports.prometheus, ports.admin, scrapeSeconds);
  return {
    prometheus: `http://127.0.0.1:${ports.prometheus}`,
    port: ports.http,
    grpcPort: ports.grpc,
    ca,
    token: provider.token,
    logOut: (sid, client = 'app') =>
      fetch(`http://127.0.0.1:${ports.admin}/notices/back_channel_logout`, {
        method: 'POST',
        body: new URLSearchParams({ logout_token: provider.logout(sid, client) }),
      }),
    reports,
    provider: provider.state,
    writeLimits: text => writeFile(join(folder, 'limits.yaml'), text),
    redis,
    stop: async () => {
      for (const part of [gateway, prometheus]) await part.stop();
      await redis.stop();
    },
  };
}

async function startRedisAt(port: number): Promise<World['redis']> {
  const program = {
    command: 'redis-server',
    parameters: ['--port', `${port}`, '--bind', '127.0.0.1', '--save', ''],
  };
  let part: Part | null = await startPart(program, port);
  return {
    stop: async () => {
      await part?.stop();
      part = null;
    },
    start: async () => {
      part = await startPart(program, port);
    },
  };
}

async function writeGatewayFiles(
  folder: string,
  ports: Readonly<Record<string, number>>,
  issuer: string,
): Promise<string> {
  const authority = new TestAuthority();
  const { certificate, key } = authority.forHosts('localhost', '127.0.0.1');
  await writeFile(join(folder, 'orders.example.crt'), certificate);
  await writeFile(join(folder, 'orders.example.key'), key);
  await writeFile(join(folder, 'limits.yaml'), LIMITS);
  await writeFile(join(folder, 'client-secret'), 'a-secret-of-the-dashboard');
  const url = (port: number | undefined) => `http://127.0.0.1:${port}`;
  const config = {
    listen: {
      http: `127.0.0.1:${ports['http']}`,
      grpc: {
        address: `127.0.0.1:${ports['grpc']}`,
        tls: { certificates: [{ certificate_file: 'orders.example.crt', key_file: 'orders.example.key' }] },
      },
      admin: `127.0.0.1:${ports['admin']}`,
    },
    trusted_proxies: ['127.0.0.1'],
    identity_provider: {
      issuer,
      client_id: 'app',
      client_secret_file: 'client-secret',
      redirect_uri: 'https://app.example/callback',
      notices: { back_channel_logout: 'admin' },
    },
    access_tokens: { audience: 'api', bots: { claim: 'client_id' }, key_set: { refresh: '30s' } },
    sign_in: { refresh: '/v1/users/refresh', sign_out: '/v1/users/sign-out' },
    upstreams: {
      api: { url: url(ports['api']), max_requests: 60 },
      reports: { url: url(ports['reports']) },
      calls: { url: url(ports['calls']), protocol: 'grpc' },
    },
    routes: [
      { path: '/**', upstream: 'api' },
      { path: '/payments/**', upstream: 'api', introspection: true },
      { path: '/live', upstream: 'api', websocket: true },
      { path: '/reports/**', upstream: 'reports' },
      { grpc: 'shop.Orders/*', upstream: 'calls' },
    ],
    store: { redis: `redis://127.0.0.1:${ports['redis']}`, timeout: '250ms' },
    limits: 'limits.yaml',
    log: { level: 'warn', access: false },
  };
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify(config));
  return authority.certificate;
}

function startPrometheus(folder: string, port: number, admin: number, scrapeSeconds: number): Promise<Part> {
  const config = {
    global: { scrape_interval: `${scrapeSeconds}s` },
    scrape_configs: [
      {
        job_name: 'weir',
        static_configs: [{ targets: [`127.0.0.1:${admin}`], labels: { instance: 'gateway-1' } }],
      },
    ],
  };
  const file = join(folder, 'prometheus.yml');
  const parameters = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=error',
  ];
  return writeFile(file, JSON.stringify(config)).then(() =>
    startPart({ command: 'prometheus', parameters }, port),
  );
}
