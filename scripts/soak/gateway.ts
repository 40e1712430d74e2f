import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { cpuMicroseconds, residentMebibytes } from '../../bench/measure/processes.ts';
import { weirMain } from '../../bench/peers/weir.ts';
import { makeCertificate, type ServerCertificate } from '../../bench/world/certificate.ts';
import { freePort } from '../../bench/world/part.ts';
import { GATEWAY_CLIENT } from '../../src/demo/provider/demo-provider.ts';
import { waitFor } from '../../test/support/wait.ts';
import type { SoakOptions } from './options.ts';
import type { ThreadHolds } from './probe.ts';
import type { Services } from './services.ts';

/** Gauges that say what is under way: 0 at rest. */
export const UNDER_WAY = [
  'weir_requests_in_flight',
  'weir_client_connections',
  'weir_upstream_connections',
  'weir_websockets_open',
  'weir_limit_in_flight',
  'weir_store_untold',
] as const;

/** What is bounded, and comes and goes with time: shown, not judged. */
const KEPT = ['weir_limit_keys', 'weir_restricted', 'weir_revocations'] as const;

/** The gateway as an operator starts it, bundled, with a probe in each thread. */
export class SoakGateway {
  readonly port: number;
  readonly tlsPort: number;
  /** PEM, of the authority that issued its certificate. */
  readonly authority: string;
  readonly #adminPort: number;
  readonly #folder: string;
  readonly #child: ChildProcess;
  readonly #workers: number;

  private constructor(
    ports: readonly number[],
    authority: string,
    child: ChildProcess,
    { folder, workers }: SoakOptions,
  ) {
    [this.port = 0, this.tlsPort = 0, this.#adminPort = 0] = ports;
    this.authority = authority;
    this.#folder = folder;
    this.#child = child;
    this.#workers = workers;
    process.on('exit', () => child.kill('SIGKILL'));
  }

  static async start(options: SoakOptions, services: Services): Promise<SoakGateway> {
    const { folder } = options;
    const ports = [await freePort(), await freePort(), await freePort()];
    const certificate = await makeCertificate(folder);
    await writeConfig(options, ports, certificate, services);
    const flags = ['--max-semi-space-size=16', '--import', join(import.meta.dirname, 'probe.ts')];
    const words = [...flags, await weirMain(), 'serve', '--config', join(folder, 'gateway.yaml')];
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
    keepLog(child, join(folder, 'gateway.log'));
    const gateway = new SoakGateway(ports, certificate.authority, child, options);
    await waitFor('the gateway is ready', async () => {
      if (!gateway.isAlive) throw new Error(`the gateway ended at start: see ${folder}/gateway.log`);
      return gateway.#admin('/readyz').then(
        ({ ok }) => ok,
        () => false,
      );
    });
    return gateway;
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Bytes. */
  get resident(): number {
    return residentMebibytes(this.#pid) * 2 ** 20;
  }

  get descriptors(): number {
    return readdirSync(`/proc/${this.#pid}/fd`).length;
  }

  get processorSeconds(): number {
    return cpuMicroseconds(this.#pid) / 1e6;
  }

  /** What each thread holds after a collection. */
  async holds(): Promise<readonly ThreadHolds[]> {
    const answer = once(this.#child, 'message');
    this.#child.send(this.#workers > 1 ? this.#workers : 0);
    return (await answer)[0];
  }

  /** The sum of all series of each gauge. */
  async gauges(): Promise<Record<string, number>> {
    const text = await (await this.#admin('/metrics')).text();
    const sums: Record<string, number> = {};
    for (const name of [...UNDER_WAY, ...KEPT]) {
      const lines = text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'));
      sums[name] = [...lines].reduce((sum, [, value]) => sum + Number(value), 0);
    }
    return sums;
  }

  /** Has it read another configuration. */
  async reload(number: number): Promise<void> {
    await writeFile(join(this.#folder, 'limits.yaml'), limitsText(number));
    this.#child.kill('SIGHUP');
  }

  /** Ends a worker, which is then replaced; does nothing where there is none. */
  endWorker(): void {
    this.#child.send('a worker dies');
  }

  /** Ends it as a supervisor does. */
  async stop(): Promise<void> {
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await gone;
  }

  get #pid(): number {
    return this.#child.pid ?? 0;
  }

  #admin(path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.#adminPort}${path}`, { headers: { Connection: 'close' } });
  }
}

/** Keeps the lines about the gateway; those about requests would fill the disk in a night. */
function keepLog(child: ChildProcess, file: string): void {
  const log = createWriteStream(file);
  if (child.stdout === null) return;
  createInterface(child.stdout).on('line', line => {
    if (!line.includes('"requestId":')) log.write(`${line}\n`);
  });
}

async function writeConfig(
  { folder, workers }: SoakOptions,
  [http = 0, tls = 0, admin = 0]: readonly number[],
  certificate: ServerCertificate,
  services: Services,
): Promise<void> {
  const url = (port: number) => `http://127.0.0.1:${port}`;
  const { provider, redis } = services;
  const certificates = [{ certificate_file: certificate.certificateFile, key_file: certificate.keyFile }];
  await writeFile(join(folder, 'client-secret'), GATEWAY_CLIENT.secret);
  await writeFile(join(folder, 'limits.yaml'), limitsText(1));
  const config = {
    listen: {
      http: { address: `127.0.0.1:${http}`, h2c: true },
      grpc: { address: `127.0.0.1:${tls}`, tls: { certificates } },
      admin: `127.0.0.1:${admin}`,
    },
    workers,
    identity_provider: {
      issuer: provider.issuer,
      client_id: GATEWAY_CLIENT.id,
      client_secret_file: 'client-secret',
      redirect_uri: provider.redirectUri,
      scope: 'openid profile',
    },
    // Revoked sessions are kept for as long as tokens live, so that a run of some minutes sees them go.
    access_tokens: { audience: 'api', bots: { claim: 'client_id' }, max_lifetime: '3m', leeway: '5s' },
    sign_in: { refresh: '/v1/refresh', sign_out: '/v1/sign-out' },
    upstreams: {
      api: { urls: [url(services.fast.port), url(services.slow.port)], keep_alive: '1s' },
      calls: { url: url(services.calls.port), protocol: 'grpc', keep_alive: '1s' },
      h2: { url: url(services.calls.port), protocol: 'h2', keep_alive: '1s' },
      sockets: { url: url(services.webSockets.port) },
    },
    routes: [
      { path: '/v1/**', upstream: 'api', authentication: 'optional' },
      { path: '/mine/**', upstream: 'api' },
      { path: '/h2/**', upstream: 'h2', authentication: 'none' },
      { path: '/live', upstream: 'sockets', websocket: true, authentication: 'none' },
      { grpc: 'soak.Echo/*', upstream: 'calls', authentication: 'none', grpc_web: true },
    ],
    timeouts: { client_header: '2s', client_body: '2s', client_read: '3s', tls_handshake: '2s' },
    limits: 'limits.yaml',
    store: { redis: `redis://127.0.0.1:${redis.port}` },
    state: join(folder, 'state'),
    caps: { limit_keys: 20_000 },
    shutdown: { drain: '2s' },
  };
  // JSON is YAML.
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify(config));
}

function limitsText(number: number): string {
  return JSON.stringify({
    global: { user: '200/1s', address: '200/1s', bot: '200/1s' },
    invalid_requests: { limit: '100/10s', restrict_for: '5s' },
    failed_verifications: '50/10s',
    buckets: {
      things: { main: 'id', user: `${20 + (number % 10)}/5s`, resource: '50/5s', concurrent: 20 },
      rest: { user: '500/10s', algorithm: 'smooth' },
    },
    routes: { '/v1/things/{id}/**': 'things', '/v1/**': 'rest' },
  });
}
