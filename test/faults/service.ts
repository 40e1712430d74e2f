import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { onTestFinished } from 'vitest';
import { WebSocketServer } from 'ws';
import type { ConfigPart } from '../support/gateway.ts';
import { framed, GrpcReader } from '../support/grpc.ts';
import { type Account, answerTo, echoOf } from './account.ts';

/** Ports of a service: requests and WebSockets over HTTP/1.1, requests and calls of gRPC over HTTP/2. */
export interface Service {
  readonly http1: number;
  readonly http2: number;
}

/** Starts a service that answers each request, call and message as its account expects, once that has arrived. */
export async function startService(account: Account): Promise<Service> {
  const http1 = createServer({ keepAliveTimeout: 60_000 }, (request, response) =>
    answer(account, request, response),
  );
  echoMessages(account, http1);
  const http2 = createHttp2Server((request, response) => {
    if (request.headers['content-type'] === 'application/grpc') serveCall(account, request, response);
    else answer(account, request, response);
  });
  http2.on('sessionError', () => {});
  return { http1: await portOf(http1), http2: await portOf(http2) };
}

async function portOf(server: NetServer): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function answer(
  account: Account,
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
): void {
  let body = '';
  request.on('error', () => {});
  response.on('error', () => {});
  request.on('data', (piece: Buffer) => {
    body += piece.toString('latin1');
  });
  request.on('end', () => {
    const { method = '', url = '' } = request;
    account.arrived(url);
    response.end(answerTo({ method, target: url, body }));
  });
}

function echoMessages(account: Account, server: Server): void {
  const sockets = new WebSocketServer({ server });
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate();
  });
  sockets.on('connection', socket => {
    socket.on('error', () => {});
    socket.on('message', bytes => {
      account.arrived(String(bytes));
      socket.send(echoOf(String(bytes)));
    });
  });
}

/** Echoes each message at once, and ends the call when its client does. */
function serveCall(account: Account, request: Http2ServerRequest, response: Http2ServerResponse): void {
  const reader = new GrpcReader();
  let next = 0;
  request.on('error', () => {});
  response.on('error', () => {});
  response.writeHead(200, { 'content-type': 'application/grpc' });
  request.on('data', (piece: Buffer) => {
    for (const text of reader.read(piece)) {
      const [target = '', number] = text.split(' ');
      if (next === 0) account.arrived(target);
      if (Number(number) !== next++) account.surplus++;
      response.write(framed(echoOf(text)));
    }
  });
  request.on('end', () => {
    response.addTrailers({ 'grpc-status': '0' });
    response.end();
  });
}

/** The path of WebSockets. */
export const LIVE = '/live';
/** The path of calls. */
export const TALK = '/faults.Echo/Talk';

/** `upstreams` and `routes` of a gateway before services, among which it balances. */
export function frontOf(
  services: readonly Service[],
  { protocol = 'http1', timeouts = {}, route = { authentication: 'none' }, routes = [] }: FrontOptions = {},
): ConfigPart {
  const at = (port: keyof Service) => ({ urls: services.map(each => `http://127.0.0.1:${each[port]}`) });
  const api = { protocol, timeouts, max_requests_per_caller: '100%' };
  return {
    upstreams: {
      api: { ...at(protocol === 'h2' ? 'http2' : 'http1'), ...api },
      calls: { ...at('http2'), protocol: 'grpc', max_grpc_calls_per_caller: '100%' },
    },
    routes: [
      { path: '/**', upstream: 'api', ...route },
      ...(protocol === 'h2' ? [] : [{ path: LIVE, upstream: 'api', websocket: true, ...route }]),
      { grpc: 'faults.Echo/*', upstream: 'calls', ...route },
      ...routes,
    ],
  };
}

interface FrontOptions {
  /** What requests are sent over. h2: there are no WebSockets then. */
  readonly protocol?: 'http1' | 'h2';
  /** Those of requests. */
  readonly timeouts?: ConfigPart;
  /** Further keys of each route. Default: no token is needed. */
  readonly route?: ConfigPart;
  /** Further routes. */
  readonly routes?: readonly ConfigPart[];
}
