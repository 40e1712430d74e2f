import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { GRPC_HEADERS, grpcMessage } from '../../bench/load/grpc.ts';
import type { IssuerKey } from '../../test/support/token-issuer.ts';
import type { Stubborn } from './services.ts';

export interface Target {
  readonly port: number;
  /** Speaks gRPC over TLS. */
  readonly tlsPort: number;
  readonly services: Stubborn;
  /** The provider, and what it signs with. */
  readonly issuer: string;
  readonly key: IssuerKey;
}

export interface Closable {
  destroy(): void;
}

/** Keys of limits.yaml, and of gateway.yaml besides those that let one address fill a cap. */
export interface Setting {
  readonly limits?: Readonly<Record<string, unknown>>;
  readonly config?: (target: Target) => Readonly<Record<string, unknown>>;
}

/** A cap, and clients who fill it in the costliest way that we know. */
export interface Filling extends Setting {
  readonly protocol: string;
  /** What a client does. */
  readonly what: string;
  /** The key of gateway.yaml that bounds how many there can be, and its default; null: the code says how many. */
  readonly cap: string | null;
  readonly most: number;
  /** How many are opened to measure one. Few of those that fill buffers of the kernel, which has some GiB for all sockets. */
  readonly measured: number;
  /** The gauge that says how many there are. */
  readonly gauge: string;
  /** Opens one connection, which holds `each` of them. */
  readonly each: number;
  open(target: Target): Promise<Closable>;
}

const CONNECTIONS = {
  cap: 'caps.connections',
  most: 20_000,
  gauge: 'weir_client_connections',
  each: 1,
} as const;
const REQUESTS = {
  cap: 'upstreams.NAME.max_requests',
  most: 1_024,
  gauge: 'weir_requests_in_flight',
  each: 1,
} as const;
const STREAMS = { ...REQUESTS, each: 100 } as const;
const CALLS = { ...STREAMS, cap: 'upstreams.NAME.max_grpc_calls' } as const;
const SOCKETS = {
  cap: 'upstreams.NAME.max_websockets',
  most: 10_000,
  gauge: 'weir_websockets_open',
  each: 1,
} as const;

/** More than anybody holds for a client. */
const MUCH = Buffer.alloc(2 ** 18, '-');

export const CONNECTIONS_AND_REQUESTS: readonly Filling[] = [
  {
    ...CONNECTIONS,
    protocol: 'HTTP/1.1',
    what: 'rests after a request',
    measured: 2_000,
    open: t => raw(t, head('GET /small')),
  },
  {
    ...CONNECTIONS,
    protocol: 'HTTP/1.1',
    what: 'stops within a head of 16 KiB',
    measured: 2_000,
    open: halfHead,
  },
  {
    ...CONNECTIONS,
    protocol: 'HTTP/2',
    what: 'rests after a request',
    measured: 1_000,
    open: t => streams(t, 1, '/small'),
  },
  {
    ...CONNECTIONS,
    protocol: 'HTTP/2',
    what: 'stops within a head of 16 KiB',
    measured: 1_000,
    open: halfHeaders,
  },
  { ...CONNECTIONS, protocol: 'HTTP/2, TLS', what: 'rests after the handshake', measured: 1_000, open: tls },
  {
    ...{
      protocol: 'TLS',
      what: 'stops within the handshake',
      cap: 'caps.tls_handshakes',
      most: 512,
      measured: 500,
    },
    ...{ gauge: 'weir_client_connections', each: 1, open: t => raw({ ...t, port: t.tlsPort }, '') },
  },
  {
    ...REQUESTS,
    protocol: 'HTTP/1.1',
    what: 'waits for a response',
    measured: 1_000,
    open: t => raw(t, head('GET /never')),
  },
  {
    ...REQUESTS,
    protocol: 'HTTP/1.1',
    what: 'sends more requests meanwhile',
    measured: 1_000,
    open: pipeline,
  },
  {
    ...REQUESTS,
    protocol: 'HTTP/1.1',
    what: 'uploads to a service that does not read',
    measured: 1_000,
    open: upload,
  },
  {
    ...REQUESTS,
    protocol: 'HTTP/1.1',
    what: 'does not read a response',
    measured: 300,
    open: t => deaf(t, head('GET /endless')),
  },
  {
    ...REQUESTS,
    protocol: 'HTTP/1.1 to HTTP/2',
    what: 'does not read a response',
    measured: 300,
    open: t => deaf(t, head('GET /h2/endless')),
  },
  {
    ...STREAMS,
    protocol: 'HTTP/2',
    what: 'waits for a response',
    measured: 1_000,
    open: t => streams(t, 100, '/never'),
  },
  {
    ...STREAMS,
    protocol: 'HTTP/2',
    what: 'uploads to a service that does not read',
    measured: 1_000,
    open: t => streams(t, 100, '/never', MUCH),
  },
  {
    ...STREAMS,
    protocol: 'HTTP/2',
    what: 'does not read a response',
    measured: 300,
    open: t => streams(t, 100, '/endless'),
  },
  { ...CALLS, protocol: 'gRPC', what: 'waits for a message', measured: 1_000, open: t => calls(t, 'Never') },
  {
    ...CALLS,
    protocol: 'gRPC',
    what: 'sends to a service that does not read',
    measured: 300,
    open: t => calls(t, 'Never', MUCH),
  },
  {
    ...CALLS,
    protocol: 'gRPC',
    what: 'does not read messages',
    measured: 300,
    open: t => calls(t, 'Endless'),
  },
  { ...CALLS, each: 1, protocol: 'gRPC-Web', what: 'does not read messages', measured: 300, open: webCall },
  {
    ...SOCKETS,
    protocol: 'WebSocket',
    what: 'rests',
    measured: 1_000,
    open: t => raw(t, handshake('/socket/never')),
  },
  {
    ...SOCKETS,
    protocol: 'WebSocket',
    what: 'sends to a service that does not read',
    measured: 300,
    open: t => raw(t, Buffer.concat([Buffer.from(handshake('/socket/never')), messages()])),
  },
  {
    ...SOCKETS,
    protocol: 'WebSocket',
    what: 'does not read messages',
    measured: 300,
    open: t => deaf(t, handshake('/socket/endless')),
  },
];

function head(request: string, ...fields: readonly string[]): string {
  return [`${request} HTTP/1.1`, 'Host: caps', ...fields, '', ''].join('\r\n');
}

function handshake(path: string): string {
  const version = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='];
  return head(`GET ${path}`, 'Connection: Upgrade', 'Upgrade: websocket', ...version);
}

/** Frames with messages of 64 KiB, masked by zeros. */
function messages(): Buffer {
  const frame = Buffer.alloc(14 + 65_536);
  frame.set([0x82, 0xff]);
  frame.writeUInt32BE(65_536, 6);
  return Buffer.concat(Array.from({ length: 8 }, () => frame));
}

/** Sends this and reads whatever comes. */
async function raw({ port }: Target, bytes: string | Buffer): Promise<Closable> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.resume();
  if (bytes.length > 0) socket.write(bytes);
  return socket;
}

/** Sends this and reads nothing. */
async function deaf({ port }: Target, bytes: string | Buffer): Promise<Closable> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  socket.pause();
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

function halfHead(target: Target): Promise<Closable> {
  return raw(target, head('GET /small', `X: ${'-'.repeat(16_000)}`).slice(0, -4));
}

function pipeline(target: Target): Promise<Closable> {
  return raw(target, head('GET /never') + head('GET /never').repeat(10_000));
}

function upload(target: Target): Promise<Closable> {
  return raw(target, Buffer.concat([Buffer.from(head('POST /never', 'Content-Length: 262144')), MUCH]));
}

/** HEADERS with half of a head, whose end (END_HEADERS) never comes. */
function halfHeaders(target: Target): Promise<Closable> {
  const settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
  const headers = [0, 0x3e, 0x80, 1, 0, 0, 0, 0, 1];
  const more = [0, 0x30, 0x00, 9, 0, 0, 0, 0, 1];
  // Literal fields without indexing, whose values are 100 bytes.
  const field = Buffer.concat([Buffer.from([0, 1, 0x78, 100]), Buffer.alloc(100, '-')]);
  const block = Buffer.concat(Array.from({ length: 300 }, () => field));
  return raw(
    target,
    Buffer.concat([
      Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
      Buffer.from([...settings, ...headers]),
      block.subarray(0, 16_000),
      Buffer.from(more),
      block.subarray(0, 12_288),
    ]),
  );
}

async function tls({ tlsPort }: Target): Promise<Closable> {
  const options = { port: tlsPort, host: '127.0.0.1', servername: 'localhost' };
  const socket = connectTls({ ...options, ALPNProtocols: ['h2'], rejectUnauthorized: false });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  socket.write(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0', 'latin1'));
  return socket;
}

/** Opens streams on one connection. Of their responses, nothing is read. */
async function streams(
  { port }: Target,
  count: number,
  path: string,
  body: Buffer | null = null,
): Promise<Closable> {
  const session = connectHttp2(`http://127.0.0.1:${port}`, { maxSessionMemory: 1_000 });
  session.on('error', () => {});
  await once(session, 'remoteSettings');
  for (let i = 0; i < count; i++) {
    const stream = session.request({ ':path': path, ':method': body === null ? 'GET' : 'POST' });
    stream.on('error', () => {});
    if (body !== null) stream.write(body);
  }
  return session;
}

async function calls({ port }: Target, method: string, body = grpcMessage(10)): Promise<Closable> {
  const session = connectHttp2(`http://127.0.0.1:${port}`, { maxSessionMemory: 1_000 });
  session.on('error', () => {});
  await once(session, 'remoteSettings');
  for (let i = 0; i < 100; i++) {
    const fields = { ':method': 'POST', ':path': `/caps.Stubborn/${method}`, ...GRPC_HEADERS };
    const stream = session.request(fields, { endStream: false });
    stream.on('error', () => {});
    stream.write(body === MUCH ? grpcMessage(MUCH.length) : body);
  }
  return session;
}

function webCall(target: Target): Promise<Closable> {
  const fields = ['Content-Type: application/grpc-web+proto', 'Content-Length: 15'];
  return deaf(
    target,
    Buffer.concat([Buffer.from(head('POST /caps.Stubborn/Endless', ...fields)), grpcMessage(10)]),
  );
}
