import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { copyFile, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GRPC_SERVICE } from '../load/grpc.ts';
import { startPart } from '../world/part.ts';
import { type Job, routeHost, routePrefixes } from './job.ts';
import { NEVER_REACHED_PER_SECOND, type Peer, type Surroundings, upstreamPortsOf } from './peer.ts';

const CHECKOUT = join(import.meta.dirname, '../..');

/** The gateway as an operator starts it. */
export const weir: Peer = checkoutPeer('Weir', CHECKOUT);

/** The gateway of another checkout, with the same configuration. */
export function weirBefore(checkout: string): Peer {
  return checkoutPeer('Weir before', checkout);
}

/** As the image and the units start it. */
export const NODE_FLAGS = ['--max-semi-space-size=16', '--v8-pool-size=0'];
export const MEMORY_ENVIRONMENT = { MALLOC_TRIM_THRESHOLD_: '131072' };

/** In its log. */
export const LISTENS = '"msg":"listening"';

/** WEIR_PROFILE names a directory that takes processor profiles. */
function checkoutPeer(name: string, checkout: string): Peer {
  return {
    name,
    install: 'npm ci',
    version: () => JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')).version,
    leavesOut: () => null,
    async start(job, surroundings) {
      const file = await writeWeirFiles(job, surroundings);
      const profile = process.env['WEIR_PROFILE'];
      const flags = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
      return startPart(
        {
          command: process.execPath,
          parameters: [...NODE_FLAGS, ...flags, await mainOf(checkout), 'serve', '--config', file],
          environment: MEMORY_ENVIRONMENT,
          outputFile: join(surroundings.directory, 'weir.log'),
          says: LISTENS,
        },
        surroundings.port,
      );
    },
  };
}

/** The bundled script of this checkout. */
export function weirMain(): Promise<string> {
  return mainOf(CHECKOUT);
}

const bundled = new Map<string, Promise<string>>();

/** The file that starts a checkout, bundled as it is published: from sources, every process would hold 40 MiB more. */
function mainOf(checkout: string): Promise<string> {
  const known = bundled.get(checkout);
  if (known !== undefined) return known;
  const made = bundleOf(checkout);
  bundled.set(checkout, made);
  return made;
}

async function bundleOf(checkout: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'weir-bundle-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  const { bundle } = await import(join(checkout, 'scripts/bundle.ts'));
  await bundle(join(directory, 'dist'));
  // It holds the version.
  await copyFile(join(checkout, 'package.json'), join(directory, 'package.json'));
  const main = join(directory, 'dist/main.js');
  await keepCompiledCode(main, directory);
  return main;
}

/** Starts it once, so that the next start finds compiled code, as it does in the image. */
async function keepCompiledCode(main: string, directory: string): Promise<void> {
  const file = join(directory, 'idle.yaml');
  await writeFile(file, 'listen: { http: "127.0.0.1:0", admin: off }\nupstreams: {}\nroutes: []\n');
  const parameters = [main, 'serve', '--config', file];
  const outputFile = join(directory, 'idle.log');
  const once = await startPart({ command: process.execPath, parameters, outputFile, says: LISTENS }, 0);
  await once.stop();
}

/** Whether this version's `weir check` accepts the configuration of a job. */
export async function acceptsJob(job: Job, surroundings: Surroundings): Promise<boolean> {
  const file = await writeWeirFiles(job, surroundings);
  return spawnSync(process.execPath, [await weirMain(), 'check', '--config', file]).status === 0;
}

/** Writes gateway.yaml, whose path it returns, and limits.yaml next to it. */
async function writeWeirFiles(job: Job, surroundings: Surroundings): Promise<string> {
  const file = join(surroundings.directory, 'gateway.yaml');
  // JSON is YAML.
  await writeFile(file, JSON.stringify(gatewayConfig(job, surroundings)));
  await writeFile(limitsFile(surroundings), JSON.stringify(limitsConfig(job)));
  return file;
}

export function limitsFile({ directory }: Surroundings): string {
  return join(directory, 'limits.yaml');
}

function gatewayConfig(job: Job, surroundings: Surroundings) {
  const { issuer } = surroundings;
  const urls = upstreamPortsOf(job, surroundings).map(port => `http://127.0.0.1:${port}`);
  const isGrpc = job.clients === 'grpc';
  const authentication = job.token ? 'required' : 'none';
  return {
    listen: { http: listener(job, surroundings), admin: 'off' },
    ...(job.threads === 1 ? {} : { workers: job.threads }),
    ...(job.forwardedAddresses ? { trusted_proxies: ['127.0.0.1'] } : {}),
    ...(job.token ? identity(issuer.url) : {}),
    upstreams: {
      api: {
        ...(urls.length === 1 ? { url: urls[0] } : { urls }),
        ...(isGrpc ? { protocol: 'grpc' } : { max_requests: 20_000, max_websockets: 20_000 }),
        ...(isGrpc ? {} : { max_websockets_per_caller: '100%' }),
      },
    },
    routes: isGrpc
      ? [{ grpc: `${GRPC_SERVICE}/*`, upstream: 'api', authentication }]
      : routePrefixes(job).map((path, n) => ({
          ...{ path: `${path}**`, upstream: 'api' },
          // A file of 10,000 routes must stay below 1 MiB, so it leaves out what is the default.
          ...(job.token ? {} : { authentication }),
          ...(job.weir.hosts ? { hosts: [routeHost(n, job)] } : {}),
          ...(job.clients === 'websocket' ? { websocket: true } : {}),
        })),
    limits: 'limits.yaml',
    ...(job.weir.redis === null ? {} : { store: { redis: job.weir.redis } }),
    caps: {
      connections: 40_000,
      connections_per_address: 20_000,
      requests_per_address: 10_000,
      ...(job.weir.sheds ? {} : { event_loop_delay: 'off' }),
    },
    ...tracing(job, surroundings),
    ...(job.weir.warmUp === null ? {} : { warm_up: job.weir.warmUp }),
    log: { access: job.weir.accessLog },
  };
}

/** The upstream takes the spans as well: it answers everything. */
function tracing({ weir: { tracing } }: Job, { upstreamPort }: Surroundings) {
  if (tracing === 'off') return {};
  const endpoint = `http://127.0.0.1:${upstreamPort}/v1/traces`;
  return { tracing: { sample: '10%', ...(tracing === 'on' ? {} : { export: { endpoint } }) } };
}

function listener({ clients }: Job, { port, certificate }: Surroundings) {
  const { certificateFile, keyFile } = certificate;
  const address = `127.0.0.1:${port}`;
  if (clients === 'http1' || clients === 'websocket') return address;
  if (clients === 'h2c' || clients === 'grpc') return { address, h2c: true };
  return { address, tls: { certificates: [{ certificate_file: certificateFile, key_file: keyFile }] } };
}

function identity(issuer: string) {
  return {
    identity_provider: {
      issuer,
      endpoints: { authorization: issuer, token: issuer, key_set: issuer },
      client_id: 'gateway',
      client_authentication: 'none',
      redirect_uri: issuer,
    },
    access_tokens: { audience: 'api', identity_headers: { 'X-Auth-Subject': 'sub', 'X-Auth-Client': 'azp' } },
  };
}

function limitRoutes(job: Job): readonly string[] {
  if (job.clients === 'grpc') return [`GRPC ${GRPC_SERVICE}/*`];
  return routePrefixes(job).map((path, n) => `${job.weir.hosts ? routeHost(n, job) : ''}${path}**`);
}

function limitsConfig(job: Job) {
  const { restrictAfter, concurrent, byMainValue } = job.weir;
  const invalid_requests =
    restrictAfter === null ? 'off' : { limit: `${restrictAfter}/10m`, restrict_for: '10m' };
  if (job.limits === 'none') return { global: 'off', invalid_requests };
  const quota =
    job.limits === 'spent' ? '1/1h' : `${NEVER_REACHED_PER_SECOND}/${job.forwardedAddresses ? '18h' : '1s'}`;
  if (byMainValue) {
    const buckets = { all: { main: 'id', address: quota } };
    return { global: 'off', invalid_requests, buckets, routes: { '/v1/things/{id}': 'all' } };
  }
  const common = { global: { user: quota, bot: quota, address: quota }, invalid_requests };
  // Where keys are counted, one address in the global limit is enough.
  if (job.forwardedAddresses) return common;
  const all = { user: quota, ...(concurrent ? { concurrent: 65_535 } : {}) };
  const routes = Object.fromEntries(limitRoutes(job).map(route => [route, 'all']));
  return { ...common, buckets: { all }, routes };
}
