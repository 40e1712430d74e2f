import { describe, expect, test } from 'vitest';
import { expectError } from '../support/error-object.ts';
import { startGateway } from '../support/gateway.ts';
import { ask, asWire, connectHttp2, H2C } from '../support/http2-client.ts';
import { head } from '../support/requests.ts';
import { header, startUpstream, values } from '../support/wire/index.ts';

describe('a status above 599', () => {
  test('is a 502 for clients of HTTP/2, and the fault of the service', async () => {
    const upstream = await startUpstream(exchange => exchange.answer(999, [], 'denied'));
    const config = { listen: H2C, log: { level: 'warn', access: false } };
    const gateway = await startGateway({ upstreamPort: upstream.port, config });
    const path = { ':path': '/a', ':authority': 'a' };
    expectError(asWire(await ask(connectHttp2(gateway), path)), 502, 14);
    expect(gateway.logLines.join()).toMatch(/"side":"upstream".*it answered with the status 999/);
    expect((await gateway.ask(head('GET /a'))).status).toBe(999);
  });
});

test('a 426 names the protocols that the service wants', async () => {
  const upstream = await startUpstream(exchange =>
    exchange.answer(426, ['Connection', 'Upgrade', 'Upgrade', 'TLS/1.2, HTTP/1.1'], 'no'),
  );
  const gateway = await startGateway({ upstreamPort: upstream.port, config: { listen: H2C } });
  const response = await gateway.ask(head('GET /a'));
  expect(header(response, 'upgrade')).toBe('TLS/1.2, HTTP/1.1');
  expect(values(response.fields, 'connection')).toEqual(['Upgrade', 'keep-alive']);
  const over2 = await ask(connectHttp2(gateway), { ':path': '/a', ':authority': 'a' });
  expect([over2.status, over2.fields['upgrade']]).toEqual([426, undefined]);
});

test('a Host with an empty port, and an empty Expect, mean nothing more', async () => {
  const upstream = await startUpstream();
  const gateway = await startGateway({ upstreamPort: upstream.port });
  expect((await gateway.ask('GET /a HTTP/1.1\r\nHost: example.com:\r\nExpect:\r\n\r\n')).status).toBe(200);
  expect(values(upstream.onlyRequest.fields, 'host')).toEqual(['example.com']);
});

test('an address that has all of its places at a service is told by which key', async () => {
  const upstream = await startUpstream(() => new Promise(() => {}));
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    api: { max_requests: 1 },
    config: { log: { level: 'info' } },
  });
  const first = await gateway.connect();
  await first.send(head('GET /stream'));
  const response = await gateway.ask(head('GET /stream'));
  expectError(response, 503, 14);
  expect(response.body.toString()).toContain('max_requests_per_caller');
  await expect.poll(() => gateway.logLines.join()).toContain('"cap":"max_requests_per_caller"');
});
