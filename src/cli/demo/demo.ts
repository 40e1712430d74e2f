import { relative, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { formatDiagnostic, loadConfig } from '../../config/index.ts';
import { PACKAGE_ROOT, systemClock, thisMachine } from '../../core/index.ts';
import type { Logger } from '../../observe/index.ts';
import { type App, startAlone } from '../../process/app/index.ts';
import { startBackend } from './backend.ts';
import { provideKeycloak, startKeycloak } from './keycloak.ts';
import { demoRealm, KeycloakAdmin } from './keycloak-realm.ts';
import { type DemoPart, freePort } from './ports.ts';
import { startProvider } from './provider/index.ts';

const MAX_READY_CHECKS = 200;
const READY_CHECK_MS = 50;

/** The ports of the demo's parts on 127.0.0.1; 0 means any free port. */
type DemoPorts = Readonly<Record<DemoPart, number>>;

interface DemoOptions {
  /** Path of the gateway's configuration, which is watched for changes. Default: the demo's. */
  readonly config?: string;
  /** Default: the demo's own provider. */
  readonly startProvider?: StartIdentityProvider;
}

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
    // The provider needs the page's address before the gateway listens.
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
  return startAlone(config.snapshot, { system: thisMachine, log, source });
}

async function ready(adminPort: number): Promise<void> {
  for (let check = 0; check < MAX_READY_CHECKS; check += 1) {
    const response = await fetch(`http://127.0.0.1:${adminPort}/readyz`);
    await response.body?.cancel();
    if (response.ok) return;
    await pause(READY_CHECK_MS);
  }
  throw new Error('the gateway did not get the keys of the provider');
}

const FOLDER = resolve(PACKAGE_ROOT, 'config/demo');
const FROM_SOURCES = import.meta.filename.endsWith('.ts');

export const DEMO_CONFIG = resolve(FOLDER, 'gateway.yaml');

/** The folder of the configuration, as one would type it in the working directory. */
export function demoFolder(): string {
  const short = relative(process.cwd(), FOLDER);
  return short.startsWith('..') ? FOLDER : short;
}

/** The commands to type: npm runs the sources in a checkout, npx the installed package. */
export const DEMO_COMMANDS = FROM_SOURCES
  ? { flow: 'npm run demo:flow', flowWith: 'npm run demo:flow --', weir: 'npm run -s weir --' }
  : { flow: 'npx weir demo --flow', flowWith: 'npx weir demo --flow', weir: 'npx weir' };

/** The lifetime of a code: a person who signs in by hand must have time to paste it. */
const CODE_SECONDS = 300;

interface IdentityProvider {
  readonly issuer: string;
  close(): Promise<unknown>;
}

interface IdentityProviderOptions {
  /** On 127.0.0.1; 0 for any free port, which Keycloak does not support. */
  readonly port: number;
  readonly redirectUri: string;
}

export type StartIdentityProvider = (options: IdentityProviderOptions) => Promise<IdentityProvider>;

/** Starts the demo's own provider, which looks like Keycloak and starts at once. */
export const startOwnProvider: StartIdentityProvider = ({ port, redirectUri }) =>
  startProvider({ port, redirectUris: [redirectUri], codeSeconds: CODE_SECONDS });

/** Starts a real Keycloak with the same realm. Shows its progress, because the first start downloads it. */
export const startRealKeycloak: StartIdentityProvider = async ({ port, redirectUri }) => {
  const home = await provideKeycloak(line => console.log(line));
  console.log('starting Keycloak, which takes about 15 seconds');
  const keycloak = await startKeycloak({ home, port });
  try {
    const realm = await demoRealm({ name: 'demo', redirectUris: [redirectUri] });
    await new KeycloakAdmin(keycloak.origin).createRealm({ ...realm, accessCodeLifespan: CODE_SECONDS });
    return { issuer: `${keycloak.origin}/realms/demo`, close: () => keycloak.close() };
  } catch (error) {
    await keycloak.close();
    throw error;
  }
};
