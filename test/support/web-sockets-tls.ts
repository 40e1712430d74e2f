import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { WebSocketServer } from 'ws';
import { AUTHORITY, startTlsGateway } from './tls-gateway.ts';

/** A gateway that speaks TLS on both sides, before a service that echoes messages and shows an empty page. */
export async function startSocketsOverTls(tls: Record<string, unknown> = {}) {
  const { certificate, key } = AUTHORITY.forHosts('127.0.0.1');
  /** What the requests for WebSockets were sent by: Via names the version of HTTP. */
  const via: (string | undefined)[] = [];
  const server = createServer({ cert: certificate, key }, (_, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end('<!doctype html>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket, { headers }) => {
    via.push(headers.via);
    socket.on('message', (data, binary) => socket.send(data, { binary }));
  });
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { gateway } = await startTlsGateway({
    api: { url, tls: { verify: false } },
    tls,
    route: { websocket: true },
    config: { shutdown: { delay: '0s', drain: '5s' } },
  });
  return { gateway, via };
}
