import { describe, expect, test } from 'vitest';
import { changeConfig, configPart, serves } from '../support/edit-config.ts';
import { AUTHORITY, startTlsGateway } from '../support/tls-gateway.ts';
import { waitFor } from '../support/wait.ts';
import { header, type ResponseOptions } from '../support/wire/index.ts';

/** A gateway for localhost and *.wild.test whose redirects go to this port. */
async function startRedirect({ port = 443, config = {}, except = [] as readonly string[] } = {}) {
  const started = await startTlsGateway({
    identities: [AUTHORITY.forHosts('localhost'), AUTHORITY.forHosts('*.wild.test')],
    redirect: { address: '127.0.0.1:0', port, except },
    config: { log: { level: 'info', access: true }, ...config },
  });
  const { gateway } = started;
  const ask = async (bytes: string, options: ResponseOptions = {}) => {
    const client = await gateway.connect({ port: gateway.app.addresses.redirect?.port ?? 0 });
    return client.ask(bytes, options);
  };
  return { ...started, ask };
}

const get = (target: string, host: string) => `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;

test('a request over http is redirected to https, with the same host, path and query', async () => {
  const { ask, upstream } = await startRedirect();
  const response = await ask(get('/a/b?c=%20d', 'localhost:8080'));
  expect(response).toMatchObject({ status: 308, bodyBytes: 0 });
  expect(header(response, 'Location')).toBe('https://localhost/a/b?c=%20d');
  expect(header(await ask(get('/', 'a.wild.test')), 'Location')).toBe('https://a.wild.test/');
  expect(upstream.requests).toEqual([]);
});

test('a body is not waited for, and the method does not matter', async () => {
  const { ask } = await startRedirect();
  const response = await ask('POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello', {
    to: 'POST',
  });
  expect(response.status).toBe(308);
});

test.each(['other.test', 'wild.test', 'a.b.wild.test', '127.0.0.1', '[::1]:80'])(
  'no redirect names a host that no certificate covers: %s',
  async host => {
    const { ask } = await startRedirect();
    const response = await ask(get('/a', host));
    expect(response.status).toBe(400);
    expect(header(response, 'Location')).toBeUndefined();
  },
);

test('the location holds the canonical path, and no line breaks', async () => {
  const { ask } = await startRedirect();
  expect(header(await ask(get('/%61', 'localhost')), 'Location')).toBe('https://localhost/a');
  const odd = await ask(get('//other.test/%0d%0aX:y', 'localhost'));
  expect(header(odd, 'Location') ?? 'https://localhost/').toMatch(/^https:\/\/localhost\//);
  expect(header(odd, 'X')).toBeUndefined();
});

test('redirects are counted and logged like any other request', async () => {
  const { ask, gateway } = await startRedirect();
  await ask(get('/a', 'localhost'));
  const requests = await gateway.counted('weir_requests_total');
  expect([...requests.keys()]).toEqual([
    expect.stringContaining('route="none",status="308",outcome="answered"'),
  ]);
  await waitFor('it is logged', () => gateway.logLines.some(line => line.includes('"status":308')));
});

describe('the gates', () => {
  test('refuse what is over capacity', async () => {
    const { ask } = await startRedirect({
      config: { caps: { requests_per_address: 1, connections_per_address: 1 } },
    });
    const first = ask(get('/a', 'localhost'));
    expect((await first).status).toBe(308);
    expect((await ask(get('/a', 'localhost'))).status).toBe(503);
  });
});

test('paths that are excepted are served over http by their routes', async () => {
  const { ask, upstream } = await startRedirect({
    except: ['/.well-known/acme-challenge/**', '/health'],
    config: { routes: [{ path: '/**', upstream: 'api', authentication: 'none' }] },
  });
  for (const path of ['/health', '/HEALTH/', '/%68ealth?x', '/.well-known/acme-challenge/a'])
    expect((await ask(get(path, 'other.test'))).status, path).toBe(200);
  expect(upstream.requests).toHaveLength(4);
  for (const path of ['/healthy', '/health/x', '/', '/.well-known/acme', '/a/../health', '//health'])
    expect((await ask(get(path, 'localhost'))).status, path).toBeGreaterThan(300);
  expect((await ask(get('/health;x', 'localhost'))).status).toBe(400);
  expect(upstream.requests).toHaveLength(4);
});

test('port and certificates follow a reload', async () => {
  const { ask, gateway } = await startRedirect();
  const { redirect, ...listen } = await configPart(gateway, 'listen');
  await changeConfig(gateway, { listen: { ...listen, redirect: { ...(redirect as object), port: 9443 } } });
  await serves(gateway, 2);
  expect(header(await ask(get('/a', 'localhost')), 'Location')).toBe('https://localhost:9443/a');
});
