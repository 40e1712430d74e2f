import { describe, expect, test } from 'vitest';
import { deafPort } from '../support/deaf-port.ts';
import { expectError, expectRejected } from '../support/error-object.ts';
import { type GatewaySettings, startGateway } from '../support/gateway.ts';
import { head, withBody } from '../support/requests.ts';
import { inTime } from '../support/test-clock.ts';
import { waitFor } from '../support/wait.ts';
import { header, type Script, startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

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
    expectError(await inTime(gateway.time, gateway.ask(head('GET /a'))), 502, 14);
  });

  test('with the first byte of its response is a 504, and its connection is destroyed', async () => {
    const { upstream, gateway, client } = await front(QUICK, silence);
    const response = client.ask(head('GET /a'));
    await waitFor('the request is upstream', () => upstream.requests.length === 1);
    expectError(await inTime(gateway.time, response), 504, 4);
    await waitFor('the upstream connection is gone', () => upstream.openConnections.length === 0);
    expect(upstream.requests).toHaveLength(1);
  });

  test('is one whose head never ends', async () => {
    const { gateway, client } = await front(QUICK, async exchange => {
      await exchange.send('HTTP/1.1 200 OK\r\n');
      await exchange.gone;
    });
    const response = await inTime(gateway.time, client.ask(head('GET /a')));
    expectError(response, response.status, response.status === 504 ? 4 : 14);
    expect([502, 504]).toContain(response.status);
  });

  test('with its first byte may have its own time on a route', async () => {
    const over = Promise.withResolvers<void>();
    const routes = [
      { path: '/**', upstream: 'api', authentication: 'none' },
      { path: '/patient', upstream: 'api', authentication: 'none', timeouts: { first_byte: '10s' } },
    ];
    const { gateway, client } = await front({ ...QUICK, config: { routes } }, async exchange => {
      await over.promise;
      await exchange.answer(200, [], 'late');
    });
    const patient = client.ask(head('GET /patient'));
    expectError(await inTime(gateway.time, gateway.ask(head('GET /other'))), 504, 4);
    over.resolve();
    expect((await patient).body.toString()).toBe('late');
  });

  test('is not one that says now and then how far it has come, for as long as an upload takes', async () => {
    const { upstream, gateway, client } = await front(QUICK, silence);
    const upload = client.ask(withBody('POST /a', 'hello'));
    await waitFor('the request is upstream', () => upstream.requests.length === 1);
    for (let told = 1; told <= 40; told++) {
      await upstream.connections[0]?.write(`HTTP/1.1 104 Upload\r\nUpload-Offset: ${told}\r\n\r\n`);
      await waitFor('it is told', () => client.received.includes(`Upload-Offset: ${told}\r\n`));
      gateway.time.advance(400);
    }
    await upstream.connections[0]?.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    const { status, interim } = await upload;
    expect([status, interim.length]).toEqual([200, 40]);
  });

  test('inside its response breaks the response off', async () => {
    const { upstream, gateway, client } = await front(QUICK, async exchange => {
      await exchange.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello');
      await exchange.gone;
    });
    const response = await inTime(gateway.time, client.ask(head('GET /a')));
    expect(response).toMatchObject({ status: 200, complete: false });
    await waitFor('the upstream connection is gone', () => upstream.openConnections.length === 0);
  });

  test('does not include a client that sends a byte now and then', async () => {
    const { upstream, gateway, client } = await front(
      { api: { timeouts: { idle: '1s' } } },
      async exchange => {
        await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n');
        await exchange.gone;
      },
    );
    let bytes = 0;
    const slow = client.ask(head('GET /a'), {
      onData: piece => {
        bytes += piece.length;
      },
    });
    await waitFor('it flows', () => bytes === 1);
    const silent = gateway.ask(head('GET /silent'));
    await waitFor('the other is upstream', () => upstream.requests.length === 2);
    for (let sent = 2; sent <= 6; sent++) {
      gateway.time.advance(500);
      await upstream.connections[0]?.write('1\r\nx\r\n');
      await waitFor('the byte is there', () => bytes === sent);
    }
    expect(await silent).toMatchObject({ status: 200, complete: false });
    await upstream.connections[0]?.write('0\r\n\r\n');
    expect(await slow).toMatchObject({ status: 200, complete: true });
  });

  test('does not include one whose client is slow with the request: the time starts after its last byte', async () => {
    const { upstream, gateway, client } = await front(QUICK, async exchange => {
      if (exchange.request.target === '/silent') return await exchange.gone;
      await exchange.received();
      await exchange.answer(200);
    });
    const bytes = withBody('POST /a', 'x'.repeat(8));
    await client.send(bytes.slice(0, -7));
    await waitFor('a part is upstream', () => upstream.requests[0]?.bodyBytes === 1);
    expectError(await inTime(gateway.time, gateway.ask(head('GET /silent'))), 504, 4);
    await client.send(bytes.slice(-7));
    expect((await client.answer()).status).toBe(200);
  });
});

describe('a client that is too slow', () => {
  test('with its head is answered 408 and closed', async () => {
    const { upstream, gateway, client } = await front({ config: { timeouts: { client_header: '1s' } } });
    await client.send('GET /a HTTP/1.1\r\nHost: gate');
    await inTime(gateway.time, expectRejected(client, 408, 4));
    expect(upstream.connections).toEqual([]);
  });

  test('is one that sends its head byte by byte', async () => {
    const { upstream, gateway, client } = await front({ config: { timeouts: { client_header: '1s' } } });
    const bytes = head('GET /a', `X: ${'x'.repeat(1_000)}`);
    let sent = 0;
    const sendOne = async () => {
      await client.send(bytes.charAt(sent++));
      return client.bytesRead > 0;
    };
    await gateway.time.advanceUntil('it is answered', sendOne, 50);
    expect(sent).toBeLessThan(bytes.length);
    await inTime(gateway.time, expectRejected(client, 408, 4));
    expect(upstream.connections).toEqual([]);
  });

  test('with its body is answered 408 and closed, and the upstream does not take the part for the whole', async () => {
    const { upstream, gateway, client } = await front({ config: { timeouts: { client_body: '1s' } } });
    await client.send(`${head('POST /a', 'Content-Length: 10')}hello`);
    await waitFor('a part is upstream', () => upstream.requests[0]?.bodyBytes === 5);
    await inTime(gateway.time, expectRejected(client, 408, 4));
    await waitFor('the upstream connection is gone', () => upstream.openConnections.length === 0);
    expect(upstream.onlyRequest.complete).toBe(false);
  });

  test('is not one whose body takes long but moves', async () => {
    const timeouts = { client_body: '1s', client_header: '1s' };
    const { upstream, gateway, client } = await front({ config: { timeouts } });
    await client.send(head('POST /a', 'Transfer-Encoding: chunked'));
    await waitFor('it is upstream', () => upstream.requests.length === 1);
    const still = await gateway.connect();
    await still.send(head('POST /b', 'Content-Length: 10'));
    await waitFor('the other is, too', () => upstream.requests.length === 2);
    for (let sent = 1; sent <= 6; sent++) {
      gateway.time.advance(500);
      await client.send('1\r\nx\r\n');
      await waitFor('the byte is upstream', () => upstream.requests[0]?.bodyBytes === sent);
    }
    await inTime(gateway.time, expectRejected(still, 408, 4));
    await client.send('0\r\n\r\n');
    expect((await client.answer()).status).toBe(200);
  });
});

describe('an idle client connection', () => {
  test('is kept open as long as announced, then closed', async () => {
    const time = new FrozenClock(Date.now());
    const { client } = await front({ config: { timeouts: { keep_alive: '1s' } }, clock: time });
    const response = await client.ask(head('GET /a'));
    expect(header(response, 'keep-alive')).toBe('timeout=1');
    time.advance(1_000);
    expect((await client.ask(head('GET /a'))).status).toBe(200);
    time.advance(3_000);
    expect(await client.ended()).toBe('close');
  });
});
