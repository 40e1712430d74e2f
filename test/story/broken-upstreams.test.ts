import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { expectError } from '../support/error-object.ts';
import { freePort } from '../support/free-port.ts';
import { type ConfigPart, startGateway } from '../support/gateway.ts';
import { startH2Upstream } from '../support/h2-upstream.ts';
import { atEnd, shared } from '../support/lifetime.ts';
import { head, inChunks, withBody } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import { responseOk, type Script, startUpstream } from '../support/wire/index.ts';

/** Answers `/broken` with these bytes and then as told; everything else is answered well. */
function broken(bytes: string | Buffer, then: 'keep' | 'close' | 'reset' = 'keep'): Script {
  return async exchange => {
    if (exchange.request.target !== '/broken') return await responseOk(exchange);
    await exchange.received();
    await exchange.send(bytes);
    if (then === 'close') exchange.connection.end();
    if (then === 'reset') exchange.connection.reset();
  };
}

const started = shared(async () => {
  const upstream = await startUpstream();
  return { upstream, gateway: await startGateway({ upstreamPort: upstream.port }) };
});

/** The gateway of most tests here, in front of an upstream that has seen nothing yet. */
async function front(script: Script) {
  const { upstream, gateway } = await started();
  await upstream.renew(script);
  return { upstream, gateway, client: await gateway.connect() };
}

const OK = 'HTTP/1.1 200 OK\r\n';

describe('something that is not a response is a 502, and the next request is served on another upstream connection', () => {
  test.each([
    ['nothing but a close', '', 'close'],
    ['half a head and a reset', `${OK}Content-Le`, 'reset'],
    ['HTTP/2', '\0\0\x12\x04\0\0\0\0\0', 'keep'],
    [
      '101 that nobody asked for',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nxx',
      'keep',
    ],
    [
      'both framings',
      `${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
      'keep',
    ],
    ['a head of 40 KiB', `${OK}X: ${'a'.repeat(40_960)}\r\nContent-Length: 2\r\n\r\nok`, 'keep'],
    ['interim answers without end', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000), 'keep'],
  ] as const)('%s', async (_, bytes, then) => {
    const { upstream, client } = await front(broken(bytes, then));
    expectError(await client.ask(head('GET /broken')), 502, 14);
    const { connection } = upstream.onlyRequest;
    await waitFor('the upstream connection is gone', () => !connection.open);
    expect((await client.ask(head('GET /next'))).status).toBe(200);
    expect(upstream.requests[1]?.connection.id).not.toBe(connection.id);
  });
});

describe('a response that breaks off reaches the client as one that breaks off', () => {
  const long = 'x'.repeat(40_000);
  test.each([
    ['a length, reset', `${OK}Content-Length: 10\r\n\r\nhello`, 'reset'],
    ['a length, long, closed', `${OK}Content-Length: 50000\r\n\r\n${long}`, 'close'],
    [
      'chunks, closed before the last CRLF',
      `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n`,
      'close',
    ],
    ['an invalid chunk size', `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n`, 'keep'],
    ['a broken trailer', `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX : y\r\n\r\n`, 'keep'],
  ] as const)('%s', async (_, bytes, then) => {
    const { upstream, gateway, client } = await front(broken(bytes, then));
    const response = await client.ask(head('GET /broken'));
    // Before its head went to the client such a response may also be a 502.
    if (response.status === 502) expectError(response, 502, 14);
    else expect(response).toMatchObject({ status: 200, complete: false });
    await waitFor('the upstream connection is gone', () => upstream.openConnections.length === 0);
    expect((await gateway.ask(head('GET /next'))).status).toBe(200);
  });
});

describe('bytes behind a response', () => {
  const SMUGGLED = 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned';
  test.each([
    ['chunks', `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n${SMUGGLED}`, 'GET'],
    ['HEAD', `${OK}Content-Length: 2\r\n\r\n${SMUGGLED}`, 'HEAD'],
    ['304', `HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n${SMUGGLED}`, 'GET'],
  ])('are read by no client, and their connection is not used again: %s', async (_, bytes, method) => {
    const { upstream, client } = await front(broken(bytes));
    const first = await client.ask(head(`${method} /broken`)).catch(error => error);
    expect(JSON.stringify(first)).not.toContain('poisoned');
    const other = await client.ask(head('GET /next')).catch(() => null);
    expect(other?.body.toString() ?? 'ok').toBe('ok');
    expect(upstream.requests.at(-1)?.connection.id).not.toBe(upstream.requests[0]?.connection.id);
    expect(client.received.toString()).not.toContain('poisoned');
  });

  test('on an idle connection never reach a client, a hundred times', async () => {
    const { upstream, client } = await front(responseOk);
    for (let round = 0; round < 100; round++) {
      expect((await client.ask(head(`GET /${round}`))).body.toString()).toBe('ok');
      const connection = upstream.requests.at(-1)?.connection;
      await connection?.write(SMUGGLED).catch(() => {});
      await connection?.gone;
    }
    expect(client.received.toString()).not.toContain('poisoned');
    expect(upstream.connections).toHaveLength(100);
  });
});

describe('an unreachable upstream', () => {
  test('is there as soon as it is', async () => {
    const port = await freePort();
    const gateway = await startGateway({ upstreamPort: port });
    expectError(await gateway.ask(head('GET /a')), 502, 14);
    await startUpstream({ port });
    expect((await gateway.ask(head('GET /a'))).status).toBe(200);
  });
});

describe('an upstream that asks with 100 for a body that is on its way', () => {
  const asking: Script = async exchange => {
    await exchange.send('HTTP/1.1 100 Continue\r\n\r\n');
    await responseOk(exchange);
  };

  test.each([
    ['chunks', inChunks('POST /a', ['hello'])],
    ['a length', withBody('POST /a', 'hello')],
    ['no body at all', head('GET /a')],
  ])('gets it, and the client is not told: %s', async (_, bytes) => {
    const { client } = await front(asking);
    expect(await client.ask(bytes)).toMatchObject({ status: 200, interim: [] });
    expect(await client.ask(bytes)).toMatchObject({ status: 200, interim: [] });
  });
});

describe('the log names the protocol that a service speaks in place of the configured one', () => {
  async function causeOf(api: ConfigPart, upstreamPort: number) {
    const gateway = await startGateway({ upstreamPort, api, config: { log: { level: 'info' } } });
    expect((await gateway.ask(head('GET /'))).status).toBe(502);
    return gateway.logLines.map(line => JSON.parse(line)).find(({ type }) => type === 'fault')?.cause;
  }

  test('HTTP/2', async () => {
    const { port } = await startH2Upstream();
    expect(await causeOf({}, port)).toBe('HTTP/2: write protocol: h2 (or grpc) for this upstream');
  });

  test('TLS', async () => {
    // RFC 8446, 6: a fatal alert, as OpenSSL answers a request in clear text.
    const { port } = await startUpstream(exchange => exchange.send(Buffer.from('15030100020246', 'hex')));
    expect(await causeOf({}, port)).toBe('an alert of TLS: write https:// for this upstream');
  });

  test('HTTP/1', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(() => server.close());
    const { port } = server.address() as AddressInfo;
    expect(await causeOf({ protocol: 'h2' }, port)).toContain(
      'HTTP/1: leave out "protocol" for this upstream',
    );
  });
});
