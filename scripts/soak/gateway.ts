import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeCertificate, type ServerCertificate } from '../../bench/world/certificate.ts';
import { freePort } from '../../bench/world/part.ts';
import { GATEWAY_CLIENT } from '../../src/cli/demo/provider/demo-provider.ts';
import type { SoakOptions } from './options.ts';
import { ProbedGateway } from './probed-gateway.ts';
import type { Services } from './services.ts';

/** The gateway of a soak: every part that a gateway can have, with waits and lives so short that many end within a run. */
export interface SoakGateway {
  readonly process: ProbedGateway;
  readonly port: number;
  readonly tlsPort: number;
  /** PEM, of the authority that issued its certificate. */
  readonly authority: string;
}

export async function startGateway(options: SoakOptions, services: Services): Promise<SoakGateway> {
  const { folder } = options;
  const [port, tlsPort] = [await freePort(), await freePort()];
  const certificate = await makeCertificate(folder);
  await writeFile(join(folder, 'client-secret'), GATEWAY_CLIENT.secret);
  await writeLimits(folder, 0);
  const config = configOf(options, { port, tlsPort }, certificate, services);
  const process = await ProbedGateway.start({ folder, config });
  return { process, port, tlsPort, authority: certificate.authority };
}

/** Writes other limits, whose numbers follow from this one. */
export async function writeLimits(folder: string, number: number): Promise<void> {
  const limits = {
    global: { user: '200/1s', address: '200/1s', bot: '200/1s' },
    invalid_requests: { limit: '100/10s', restrict_for: '5s' },
    failed_verifications: '50/10s',
    buckets: {
      things: { main: 'id', user: `${20 + (number % 10)}/5s`, resource: '50/5s', concurrent: 20 },
      rest: { user: '500/10s', algorithm: 'smooth' },
    },
    routes: { '/v1/things/{id}/**': 'things', '/v1/**': 'rest' },
  };
  await writeFile(join(folder, 'limits.yaml'), JSON.stringify(limits));
}

function configOf(
  { folder, workers }: SoakOptions,
  { port, tlsPort }: Pick<SoakGateway, 'port' | 'tlsPort'>,
  { certificateFile, keyFile }: ServerCertificate,
  services: Services,
) {
  const url = (port: number) => `http://127.0.0.1:${port}`;
  const { provider, redis } = services;
  return {
    listen: {
      http: { address: `127.0.0.1:${port}`, h2c: true },
      grpc: {
        address: `127.0.0.1:${tlsPort}`,
        tls: { certificates: [{ certificate_file: certificateFile, key_file: keyFile }] },
      },
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
    // A machine that is busy with other things must not have it refuse clients.
    caps: { limit_keys: 20_000, event_loop_delay: 'off' },
    shutdown: { drain: '2s' },
  };
}
