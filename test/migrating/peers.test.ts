import { execFileSync } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { cpSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { COMMAND, envoy } from '../../bench/peers/envoy.ts';
import { startBalancer } from '../support/balancers.ts';
import { exampleOf, placed, startTask } from '../support/migrating.ts';
import { head } from '../support/requests.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { issuerKey } from '../support/token-issuer.ts';
import { connectRaw, type Response, startUpstream, values } from '../support/wire/index.ts';

/** Not among our own packages: nobody maintains it, nor the hundreds that it needs. */
const EXPRESS_GATEWAY = 'express-gateway@1.16.11';
const FETCHED = join(import.meta.dirname, '../../node_modules/.cache/express-gateway');
const LIBRARY = join(FETCHED, 'node_modules/express-gateway');

interface Task {
  readonly issuer: TestIssuer;
  readonly servicePort: number;
}

/** Starts Envoy with its file of the page; returns its port. The provider of the test speaks no TLS. */
function startEnvoy({ issuer, servicePort }: Task): Promise<number> {
  const { hostname, port: idPort } = new URL(issuer.url);
  const text = exampleOf('yaml', 'jwt_authn').replace(/^ {4}transport_socket:\n(?: {6}.*\n)+/m, '');
  const quiet = ['--disable-hot-restart', '--log-level', 'error', '--concurrency', '1', '-c'];
  return startBalancer(
    COMMAND,
    quiet,
    port =>
      placed(text, {
        'address: 0.0.0.0, port_value: 8080': `address: 127.0.0.1, port_value: ${port}`,
        'https://id.example.com/realms/main/protocol/openid-connect/certs': `${issuer.url}/keys`,
        'https://id.example.com/realms/main': issuer.url,
        'address: id.example.com, port_value: 443': `address: ${hostname}, port_value: ${idPort}`,
        'port_value: 3000': `port_value: ${servicePort}`,
      }),
    'envoy.yaml',
  );
}

/** Starts express-gateway with its file of the page; returns its port. */
function startExpressGateway({ issuer, servicePort }: Task): Promise<number> {
  const start = `require(${JSON.stringify(LIBRARY)})().load(process.cwd()).run()`;
  return startBalancer(
    process.execPath,
    ['-e', start],
    (port, folder) => {
      cpSync(join(LIBRARY, 'lib/config'), folder, { recursive: true });
      const key = createPublicKey({ key: issuer.key.jwk, format: 'jwk' });
      writeFileSync(join(folder, 'issuer.pem'), key.export({ type: 'spki', format: 'pem' }));
      return placed(exampleOf('yaml', 'apiEndpoints'), {
        'port: 8080': `port: ${port}`,
        'https://id.example.com/realms/main': issuer.url,
        '127.0.0.1:3000': `127.0.0.1:${servicePort}`,
      });
    },
    'gateway.config.yml',
  );
}

const PEERS: Readonly<Record<string, (task: Task) => Promise<number>>> = {
  Weir: async ({ issuer, servicePort }) => (await startTask(issuer.url, servicePort)).port,
  Envoy: startEnvoy,
  'express-gateway': startExpressGateway,
};

beforeAll(() => {
  try {
    execFileSync(COMMAND, ['--version'], { stdio: 'ignore' });
  } catch {
    throw new Error(`These tests start Envoy. Install it: ${envoy.install}`);
  }
  if (existsSync(LIBRARY)) return;
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--prefix', FETCHED];
  execFileSync('npm', ['install', ...flags, EXPRESS_GATEWAY], { stdio: ['ignore', 'ignore', 'inherit'] });
});

describe.each(Object.entries(PEERS))('the task of the page in %s', (name, start) => {
  it('admits who has a token, names them to the service where it says so, and limits each', async () => {
    const issuer = await startIssuer();
    issuer.key = issuerKey('RS256', 'first');
    issuer.publish(issuer.key);
    const service = await startUpstream();
    const port = await start({ issuer, servicePort: service.port });
    const client = await connectRaw(port);
    const ask = (...lines: string[]): Promise<Response> => client.ask(head('GET /v1/a', ...lines));
    const alice = issuer.bearer();

    await expect.poll(async () => (await ask(alice, 'X-Auth-Subject: mallory')).status).toBe(200);
    const told = values(service.requests.at(-1)?.fields ?? [], 'x-auth-subject');
    expect(told).toEqual([name === 'express-gateway' ? 'mallory' : 'alice']);

    const before = service.requests.length;
    expect((await ask()).status).toBe(401);
    expect((await ask('Authorization: Bearer a.b.c')).status).toBe(401);
    expect((await ask(issuer.bearer({ aud: 'other' }))).status).toBe(name === 'Envoy' ? 403 : 401);
    expect((await ask(issuer.bearer({ exp: 1 }))).status).toBe(401);
    expect(service.requests).toHaveLength(before);

    const bob = issuer.bearer({ sub: 'bob' });
    const refused = async () => {
      const answers = [];
      for (let i = 0; i < 21; i++) answers.push(await ask(bob));
      return answers.find(({ status }) => status === 429);
    };
    // On a busy machine some of them may come in the next period.
    await expect.poll(async () => (await refused())?.status).toBe(429);
    expect((await ask(issuer.bearer({ sub: 'carol' }))).status).toBe(200);
    client.destroy();
  });
});
