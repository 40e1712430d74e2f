import { makeLogger, standardOutput } from '../observe/index.ts';
import { startDemo } from './demo.ts';
import { startOwnProvider, startRealKeycloak } from './identity-provider.ts';
import { type AskedPorts, choosePorts } from './ports.ts';
import { type ProviderKind, welcome } from './welcome.ts';

/**
 * Runs an identity provider, a backend and the gateway in front of them in this process until SIGINT or SIGTERM. Rejects with an
 * `Error` for the user when a part cannot start.
 */
export async function runDemo(asked: AskedPorts, kind: ProviderKind): Promise<void> {
  const chosen = await choosePorts(asked);
  const { gateway, admin, provider, backend } = chosen;
  const ports = {
    gateway: gateway.port,
    admin: admin.port,
    provider: provider.port,
    backend: backend.port,
  };
  const output = standardOutput();
  const startProvider = kind === 'keycloak' ? startRealKeycloak : startOwnProvider;
  const demo = await startDemo(ports, makeLogger('info', output), { startProvider });
  console.log(welcome(chosen, kind));
  await signal();
  console.log('\nStopping.');
  await demo.close();
  await output.flush();
}

/** Resolves at the first SIGINT or SIGTERM. Ignores more of them, because a terminal and npm may both send one. */
function signal(): Promise<void> {
  return new Promise(done => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => done());
  });
}
