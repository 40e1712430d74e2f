import { describe, expect, test } from 'vitest';
import { deafPort } from '../support/deaf-port.ts';
import { expectError, expectRejected } from '../support/error-object.ts';
import { type GatewaySettings, startGateway } from '../support/gateway.ts';
import { head, withBody } from '../support/requests.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { header, type Script, startUpstream } from '../support/wire/index.ts';

async function front(settings: Partial<GatewaySettings>, script?: Script) {
  const upstream = await startUpstream(script);
  const gateway = await startGateway({ upstreamPort: upstream.port, ...settings });
  return { upstream, gateway, client: await gateway.connect() };
}

const QUICK = { api: { timeouts: { connect: '500ms', first_byte: '500ms', idle: '500ms' } } };
const silence: Script = async exchange => await exchange.gone;

describe('an upstream that is too slow', () => {
  test('to be connected to is a 502', async () => {
    const port = await deafPort();
    const gateway = await startGateway({ upstreamPort: port, ...QUICK });
    expectError(await gateway.ask(head('GET /a')), 502, 14);
  });

  test('with the first byte of its response is a 504, and its connection is destroyed', async () => {
    const { upstream, client } = await front(QUICK, silence);
    expectError(await client.ask(head('GET /a')), 504, 4);
    await waitFor('the upstream connection is gone', () => upstream.openConnections.length === 0);
    expect(upstream.requests).toHaveLength(1);
  });

  test('is one whose head never ends', async () => {
    const { client } = await front(QUICK, async exchange => {
      await exchange.send('HTTP/1.1 200 OK\r\n');
      await exchange.gone;
    });
    const response = await client.ask(head('GET /a'));
    expectError(response, response.status, response.status === 504 ? 4 : 14);
    expect([502, 504]).toContain(response.status);
  });

  test('with its first byte may have its own time on a route', async () => {
    const { client } = await front(
      { ...QUICK, route: { timeouts: { first_byte: '10s' } } },
      async exchange => {
        await sleep(1_500);
        await exchange.answer(200, [], 'late');
      },
    );
    expect((await client.ask(head('GET /a'))).body.toString()).toBe('late');
  });

  test('inside its response breaks the response off', async () => {
    const { upstream, client } = await front(QUICK, async exchange => {
      await exchange.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello');
      await exchange.gone;
    });
    expect(await client.ask(head('GET /a'))).toMatchObject({ status: 200, complete: false });
    await waitFor('the upstream connection is gone', () => upstream.openConnections.length === 0);
  });

  test('does not include a client that sends a byte now and then', async () => {
    const { client } = await front({ api: { timeouts: { idle: '1s' } } }, async exchange => {
      await exchange.send('HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n');
      for (let i = 0; i < 12; i++) {
        await exchange.send('x');
        await sleep(200);
      }
    });
    expect(await client.ask(head('GET /a'))).toMatchObject({ complete: true, bodyBytes: 12 });
  });

  test('does not include one whose client is slow with the request: the time starts after its last byte', async () => {
    const { client } = await front(QUICK);
    const bytes = withBody('POST /a', 'x'.repeat(8));
    const pieces = [bytes.slice(0, -8), ...bytes.slice(-8)];
    void client.sendSlowly(pieces, 200);
    expect((await client.answer()).status).toBe(200);
  });
});

describe('a client that is too slow', () => {
  test('with its head is answered 408 and closed', async () => {
    const { upstream, client } = await front({ config: { timeouts: { client_header: '1s' } } });
    await client.send('GET /a HTTP/1.1\r\nHost: gate');
    await expectRejected(client, 408, 4);
    expect(upstream.connections).toEqual([]);
  });

  test('is one that sends its head byte by byte', async () => {
    const { upstream, client } = await front({ config: { timeouts: { client_header: '1s' } } });
    void client.sendSlowly(head('GET /a', `X: ${'x'.repeat(1_000)}`), 50);
    await expectRejected(client, 408, 4);
    expect(upstream.connections).toEqual([]);
  });

  test('is one that connects and says nothing', async () => {
    const { client } = await front({ config: { timeouts: { client_header: '1s', keep_alive: '1s' } } });
    await client.ended();
  });

  test('is one that is slow with the head of its second request', async () => {
    const { client } = await front({ config: { timeouts: { client_header: '1s' } } });
    expect((await client.ask(head('GET /a'))).status).toBe(200);
    await client.send('GET /a HTTP/1.1\r\nHost: gate');
    await expectRejected(client, 408, 4);
  });

  test('with its body is answered 408 and closed, and the upstream does not take the part for the whole', async () => {
    const { upstream, client } = await front({ config: { timeouts: { client_body: '1s' } } });
    await client.send(`${head('POST /a', 'Content-Length: 10')}hello`);
    await expectRejected(client, 408, 4);
    await waitFor('the upstream connection is gone', () => upstream.openConnections.length === 0);
    expect(upstream.onlyRequest.complete).toBe(false);
  });

  test('is not one whose body takes long but moves', async () => {
    const { client } = await front({ config: { timeouts: { client_body: '1s', client_header: '1s' } } });
    const bytes = withBody('POST /a', 'x'.repeat(10));
    void client.sendSlowly([bytes.slice(0, -10), ...bytes.slice(-10)], 300);
    expect((await client.answer()).status).toBe(200);
  });

  test('to read its response is closed, and so is the upstream connection', async () => {
    const { upstream, client } = await front(
      { config: { timeouts: { client_read: '1s' } } },
      async exchange => await exchange.answer(200, [], Buffer.alloc(64 * 1024 * 1024)),
    );
    client.pause();
    await client.send(head('GET /a'));
    await waitFor(
      'the upstream connection is gone',
      () => upstream.requests.length === 1 && upstream.openConnections.length === 0,
      10_000,
    );
    client.resume();
    await client.ended();
    expect(client.bytesRead).toBeLessThan(64 * 1024 * 1024);
  });

  test('is not one that reads slowly but reads', async () => {
    const size = 8 * 1024 * 1024;
    const { client } = await front({ config: { timeouts: { client_read: '1s' } } }, exchange =>
      exchange.answer(200, [], Buffer.alloc(size)),
    );
    client.pause();
    await client.send(head('GET /a'));
    const response = client.answer({ keepBytes: 0, timeoutMs: 20_000 });
    for (let i = 0; i < 10; i++) {
      client.resume();
      await sleep(5);
      client.pause();
      await sleep(250);
    }
    client.resume();
    expect(await response).toMatchObject({ complete: true, bodyBytes: size });
  });
});

describe('an idle client connection', () => {
  test('is kept open as long as announced, then closed', async () => {
    const { client } = await front({ config: { timeouts: { keep_alive: '1s' } } });
    const response = await client.ask(head('GET /a'));
    expect(header(response, 'keep-alive')).toBe('timeout=1');
    await sleep(900);
    expect((await client.ask(head('GET /a'))).status).toBe(200);
    expect(await client.ended()).toBe('close');
  });

  test('is kept open for more than a minute by default, since clients pause for whole windows', async () => {
    const { client } = await front({});
    const response = await client.ask(head('GET /a'));
    expect(Number(/timeout=(\d+)/.exec(header(response, 'keep-alive') ?? '')?.[1])).toBeGreaterThanOrEqual(
      65,
    );
  });
});
