import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import {
  agreement,
  behindHead,
  frame,
  handshake,
  masked,
  startRawUpstream,
} from '../support/raw-web-sockets.ts';
import { AUTHORITY, startTlsGateway } from '../support/tls-gateway.ts';

const TRUST = { ca: AUTHORITY.certificate, servername: 'localhost', ALPNProtocols: ['http/1.1'] };
/** It is sealed with no key of the connection. */
const BROKEN_RECORD = Buffer.from('170303001000000000000000000000000000000000', 'hex');
/** More than every buffer on the way holds at once. */
const LONG = Buffer.alloc(800_000, 'x');

test('a broken TLS record from a client ends both connections of its WebSocket', async () => {
  const upstream = await startRawUpstream(({ socket }) => void socket.write(agreement(), 'latin1'));
  const { gateway } = await startTlsGateway({
    config: { upstreams: { api: { url: `http://127.0.0.1:${upstream.port}` } } },
    route: { websocket: true },
  });
  const client = await gateway.connect({ tls: TRUST });
  await client.send(handshake('/'));
  await expect.poll(() => client.received.toString('latin1')).toContain(' 101 ');
  const [peer] = upstream.peers;
  peer?.socket.write(frame(LONG));
  await client.send(masked(LONG));
  await expect.poll(() => behindHead(client).equals(frame(LONG))).toBe(true);
  await expect.poll(() => peer?.received.equals(masked(LONG))).toBe(true);
  client.sendUnderTls(BROKEN_RECORD);
  await expect.poll(() => peer?.end).toBe('fin');
  await expect.poll(() => open(gateway)).toBe(0);
  await expect.poll(async () => (await gateway.metric('weir_client_connections')).get('')).toBe(0);
});

test('a broken TLS record from an upstream ends both connections of its WebSocket', async () => {
  const { certificate, key } = AUTHORITY.forHosts('127.0.0.1');
  const secureContext = createSecureContext({ cert: certificate, key });
  let received = 0;
  // TLS is laid over the raw socket here, so that bytes can be sent under it.
  const upstream = await startRawServer(wire => {
    const socket = new TLSSocket(wire, { isServer: true, secureContext });
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(agreement(), 'latin1');
      socket.write(frame(LONG));
      socket.on('data', bytes => {
        received += bytes.length;
      });
    });
  });
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    api: { url: `https://127.0.0.1:${upstream.port}`, tls: { verify: false } },
    route: { websocket: true },
  });
  const client = await gateway.connect();
  await client.send(handshake('/'));
  await client.send(masked(LONG));
  await expect.poll(() => behindHead(client).equals(frame(LONG))).toBe(true);
  await expect.poll(() => received).toBe(masked(LONG).length);
  expect(await open(gateway)).toBe(1);
  upstream.wires[0]?.write(BROKEN_RECORD);
  expect(await client.ended()).toBe('close');
  client.destroy();
  await expect.poll(() => open(gateway)).toBe(0);
});

async function startRawServer(onConnection: (wire: Socket) => void) {
  const wires: Socket[] = [];
  const server = createServer(wire => {
    wires.push(wire);
    onConnection(wire);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const wire of wires) wire.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, wires };
}

/** WebSockets that the gateway has open. */
async function open(gateway: LocalGateway): Promise<number | undefined> {
  return (await gateway.metric('weir_websockets_open')).get('{upstream="api"}');
}
