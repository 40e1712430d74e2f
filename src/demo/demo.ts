import { setTimeout as pause } from 'node:timers/promises';
import { type App, startApp } from '../app/index.ts';
import { formatDiagnostic, loadConfig } from '../config/index.ts';
import { systemClock, thisMachine } from '../core/index.ts';
import type { Logger } from '../observe/index.ts';
import { startBackend } from './backend.ts';
import { DEMO_CONFIG } from './commands.ts';
import { type StartIdentityProvider, startOwnProvider } from './identity-provider.ts';
import { type DemoPart, freePort } from './ports.ts';

const MAX_READY_CHECKS = 200;
const READY_CHECK_MS = 50;

/** The ports of the demo's parts on 127.0.0.1; 0 means any free port. */
export type DemoPorts = Readonly<Record<DemoPart, number>>;

export interface DemoOptions {
  /** Path of the gateway's configuration, which is watched for changes. Default: the demo's. */
  readonly config?: string;
  /** Default: the demo's own provider. */
  readonly startProvider?: StartIdentityProvider;
}

/** The running demo. */
export interface Demo {
  /** The ports in use, with a number for each 0. */
  readonly ports: DemoPorts;
  /** Gives requests in flight a moment to finish, then ends everything. */
  close(): Promise<void>;
}

/**
 * Starts provider, backend and gateway in this process. Resolves when the gateway can verify tokens. If a part cannot start,
 * those already started are ended.
 */
export async function startDemo(
  asked: DemoPorts,
  log: Logger,
  { config = DEMO_CONFIG, startProvider = startOwnProvider }: DemoOptions = {},
): Promise<Demo> {
  const running: (() => Promise<unknown>)[] = [];
  // End the gateway first: its requests in flight need the others.
  const close = async (): Promise<void> => {
    for (const end of running.splice(0).reverse()) await end();
  };
  try {
    // The provider has to know the page's address before the gateway listens.
    const ports = asked.gateway === 0 ? { ...asked, gateway: await freePort() } : asked;
    const backend = await startBackend(ports.backend, systemClock);
    running.push(() => backend.close());
    const provider = await startProvider({
      port: ports.provider,
      redirectUri: `http://127.0.0.1:${ports.gateway}/app/callback`,
    });
    running.push(() => provider.close());
    const inside = { provider: Number(new URL(provider.issuer).port), backend: backend.port };
    const gateway = await startGateway({ ...ports, ...inside }, log, config);
    running.push(() => gateway.drain());
    const { http, admin } = gateway.addresses;
    await ready(admin?.port ?? 0);
    return { ports: { gateway: http.port, admin: admin?.port ?? 0, ...inside }, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startGateway(ports: DemoPorts, log: Logger, path: string): Promise<App> {
  const env = {
    ...process.env,
    GATEWAY_PORT: `${ports.gateway}`,
    ADMIN_PORT: `${ports.admin}`,
    PROVIDER_PORT: `${ports.provider}`,
    BACKEND_PORT: `${ports.backend}`,
  };
  const config = await loadConfig(path, { env, generation: 1 });
  if (!config.ok) throw new Error(config.diagnostics.map(formatDiagnostic).join('\n'));
  const source = { path, env, loaded: config };
  return startApp(config.snapshot, { system: thisMachine, log, source });
}

/** Waits until the gateway has the provider's keys. */
async function ready(adminPort: number): Promise<void> {
  for (let check = 0; check < MAX_READY_CHECKS; check += 1) {
    const response = await fetch(`http://127.0.0.1:${adminPort}/readyz`);
    await response.body?.cancel();
    if (response.ok) return;
    await pause(READY_CHECK_MS);
  }
  throw new Error('the gateway did not get the keys of the provider');
}
