import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { format } from 'node:util';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type Demo, startDemo } from '../../src/cli/demo/demo.ts';
import { makeLogger } from '../../src/observe/index.ts';
import { freePort } from '../support/free-port.ts';
import { realTime } from '../support/real-time.ts';
import { type Ended, runWeir } from '../support/run-weir.ts';

realTime('the demo takes the clock of this machine, as for anyone who tries it');

/** Walks the flow as `npm run demo:flow` does, in this process. */
async function walk(...parameters: string[]): Promise<Ended> {
  const said = vi.spyOn(console, 'log').mockReturnValue();
  onTestFinished(() => said.mockRestore());
  const { code, out, err } = await runWeir(['demo', '--flow', ...parameters]);
  return { code, out: out + said.mock.calls.map(line => `${format(...line)}\n`).join(''), err };
}

async function demo(): Promise<Demo> {
  const ports = { gateway: 0, admin: 0, provider: 0, backend: 0 };
  const running = await startDemo(ports, makeLogger('silent', { write: () => undefined }));
  onTestFinished(() => running.close());
  return running;
}

it('the walk shows every request with its response, no token and no code whole, and succeeds', async () => {
  const { ports } = await demo();
  const { code, out, err } = await walk('--port', `${ports.gateway}`);
  expect(err).toBe('');
  expect(code).toBe(0);
  const statuses = [...out.matchAll(/^ {2}<- (\d{3})/gm)].map(([, status]) => status);
  const signIn = ['200', '200', '201', '200', '200', '400', '400', '200', '200', '401', '401'];
  const limit = ['201', '201', '201', '429', '201'];
  const signOut = ['204', '401'];
  expect(statuses).toEqual([...signIn, ...limit, ...signOut]);
  expect(out).toMatch(/^ {5}X-RateLimit-Remaining: 0$/m);
  expect(out).not.toContain(' NO ');
  expect(out).toContain('Every response was as expected.');
  expect(out).toContain('"accessToken": "eyJ');
  expect(out).not.toMatch(/[\w-]{40}/);
});

it('the walk starts its own demo if none runs', async () => {
  const { code, out } = await walk();
  expect(code).toBe(0);
  expect(out).toContain('Every response was as expected.');
});

it('the walk reports that no demo runs at the given port', async () => {
  const port = await freePort();
  const { code, err } = await walk('--port', `${port}`);
  expect(code).toBe(1);
  expect(err).toContain(`there is no demo at http://127.0.0.1:${port}`);
});

it('the walk fails if a response is not as expected', async () => {
  const { ports } = await demo();
  const lax = await startLaxProxy(ports.gateway);
  const { code, out } = await walk('--port', `${lax}`);
  expect(code).toBe(1);
  expect(out.match(/^ {2}NO .*$/gm)).toEqual(['  NO 401', '  NO 401', '  NO 401']);
  expect(out).toContain('Some responses were not as expected');
});

it('the walk has no service of its own where it is told one', async () => {
  const { code, err } = await walk('--backend-port', '3001');
  expect(code).toBe(64);
  expect(err).toMatch(/^weir demo: .+\nRun "weir demo --help" for usage\.\n$/);
});

/** Something in front of the gateway that says 200 where it says 401. Returns its port. */
async function startLaxProxy(gatewayPort: number): Promise<number> {
  const server = createServer(async (request, response) => {
    const { method = 'GET', url, headers } = request;
    const reply = await fetch(`http://127.0.0.1:${gatewayPort}${url}`, {
      method,
      headers: pick(headers, ['authorization', 'content-type', 'x-auth-username']),
      ...(method === 'POST' ? { body: await text(request) } : {}),
    });
    const status = reply.status === 401 ? 200 : reply.status;
    response.writeHead(status, pick(Object.fromEntries(reply.headers), PASSED));
    response.end(await reply.text());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const PASSED = [
  ...['www-authenticate', 'retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
  ...['x-ratelimit-reset-after', 'x-ratelimit-bucket', 'x-ratelimit-scope'],
];

function pick(fields: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap(name => (typeof fields[name] === 'string' ? [[name, fields[name]]] : [])),
  );
}
