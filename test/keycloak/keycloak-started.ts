import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { type Keycloak, provideKeycloak, startKeycloak } from '../../src/cli/demo/keycloak.ts';
import { freePort } from '../support/free-port.ts';
import { ensureInstalled } from '../support/installed.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** `http://127.0.0.1:port` */
    readonly keycloakOrigin: string;
    /** Where a `POST` to `/stop` and `/start` stops Keycloak and starts it again. */
    readonly keycloakControl: string;
  }
}

/** Runs before the tests: starts the one Keycloak of all files. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  ensureInstalled({ command: 'java', versionArgs: ['-version'], packages: ['default-jre-headless'] });
  ensureInstalled({ command: 'mvn', versionArgs: ['--version'], packages: ['maven'] });
  const home = await provideKeycloak(line => process.stdout.write(`${line}\n`));
  const began = performance.now();
  const keycloak = await startKeycloak({ home, port: await freePort() });
  process.stdout.write(`Keycloak started in ${((performance.now() - began) / 1_000).toFixed(1)} s\n`);
  const control = await serveControl(keycloak);
  project.provide('keycloakOrigin', keycloak.origin);
  project.provide('keycloakControl', control.origin);
  return async () => {
    control.close();
    await keycloak.close();
  };
}

/** The tests run in other processes: they ask this one by HTTP. */
async function serveControl(keycloak: Keycloak): Promise<{ readonly origin: string; close(): void }> {
  const server = createServer((request, response) => {
    const done = request.url === '/stop' ? keycloak.stop() : keycloak.start();
    done.then(
      () => response.end(),
      error => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, close: () => server.close() };
}
