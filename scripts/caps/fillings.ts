import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { GRPC_HEADERS, grpcMessage } from '../../bench/load/grpc.ts';
import { CAP_COSTS, type CapCost } from '../../src/config/index.ts';
import type { IssuerKey } from '../../test/support/token-issuer.ts';
import type { Stubborn } from './services.ts';
import { withProvider } from './with-provider.ts';

export interface Target {
  readonly port: number;
  /** Speaks gRPC over TLS. */
  readonly tlsPort: number;
  readonly services: Stubborn;
  /** The provider, and what it signs with. */
  readonly issuer: string;
  readonly key: IssuerKey;
  /** The address that the next connection comes from. Default: any. */
  readonly from?: () => string;
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
  /**
   * The key of gateway.yaml that bounds them, and its default where memory is enough; null: the code says how many. `caps.buffered`
   * bounds their bytes, all together, and so has no number.
   */
  readonly cap: string | null;
  readonly most: number | null;
  /** How many are opened to measure one. Few of those that fill buffers of the kernel, which has some GiB for all sockets. */
  readonly measured: number;
  /** The gauge that says how many there are. */
  readonly gauge: string;
  /** Opens one connection, which holds `each` of them. */
  readonly each: number;
  open(target: Target): Promise<Closable>;
}

const CONNECTIONS = { ...boundBy(CAP_COSTS.connections), gauge: 'weir_client_connections', each: 1 } as const;
const REQUESTS = { ...boundBy(CAP_COSTS.requests), gauge: 'weir_requests_in_flight', each: 1 } as const;
const STREAMS = { ...REQUESTS, each: 100 } as const;
const SOCKETS = { ...boundBy(CAP_COSTS.webSockets), gauge: 'weir_websockets_open', each: 1 } as const;
/** What waits for clients, or is kept of what they send. */
const BUFFERED = { cap: 'caps.buffered', most: null } as const;

function boundBy({ key, most }: CapCost): Pick<Filling, 'cap' | 'most'> {
  return { cap: key, most };
}

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
    ...BUFFERED,
    protocol: 'HTTP/1.1',
    what: 'sends more requests meanwhile',
    measured: 1_000,
    open: t => raw(t, head('GET /never').repeat(10_001)),
  },
  {
    ...REQUESTS,
    ...BUFFERED,
    protocol: 'HTTP/1.1',
    what: 'uploads to a service that does not read',
    measured: 1_000,
    open: upload,
  },
  {
    ...REQUESTS,
    ...BUFFERED,
    protocol: 'HTTP/1.1',
    what: 'does not read a response',
    measured: 300,
    open: t => deaf(t, head('GET /endless')),
  },
  {
    ...REQUESTS,
    ...BUFFERED,
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
    ...BUFFERED,
    protocol: 'HTTP/2',
    what: 'uploads to a service that does not read',
    measured: 1_000,
    open: t => streams(t, 100, '/never', MUCH),
  },
  {
    ...STREAMS,
    ...BUFFERED,
    protocol: 'HTTP/2',
    what: 'does not read a response',
    measured: 300,
    open: t => streams(t, 100, '/endless'),
  },
  {
    ...STREAMS,
    protocol: 'gRPC',
    what: 'waits for a message',
    measured: 1_000,
    open: t => calls(t, 'Never'),
  },
  {
    ...STREAMS,
    ...BUFFERED,
    protocol: 'gRPC',
    what: 'sends to a service that does not read',
    measured: 300,
    open: t => calls(t, 'Never', MUCH),
  },
  {
    ...STREAMS,
    ...BUFFERED,
    protocol: 'gRPC',
    what: 'does not read messages',
    measured: 300,
    open: t => calls(t, 'Endless'),
  },
  {
    ...REQUESTS,
    ...BUFFERED,
    protocol: 'gRPC-Web',
    what: 'does not read messages',
    measured: 300,
    open: webCall,
  },
  {
    ...{
      ...CONNECTIONS,
      ...BUFFERED,
      protocol: 'HTTP/2',
      what: 'has 100 answers of 16 KB of the gateway itself waiting',
    },
    ...{ measured: 100, open: t => deaf(t, OWN_ANSWERS) },
  },
  {
    ...{ ...CONNECTIONS, ...BUFFERED, protocol: 'HTTP/2', what: 'sends 200,000 HEAD and reads nothing' },
    ...{ measured: 5, open: t => deaf(t, HEADS) },
  },
  {
    ...{ ...REQUESTS, ...BUFFERED, protocol: 'HTTP/1.1', what: 'stops within the body of a sign-in' },
    ...{ measured: 1_000, config: withProvider, open: signInBody },
  },
  {
    ...SOCKETS,
    protocol: 'WebSocket',
    what: 'rests',
    measured: 1_000,
    open: t => raw(t, handshake('/socket/never')),
  },
  {
    ...SOCKETS,
    ...BUFFERED,
    protocol: 'WebSocket',
    what: 'sends to a service that does not read',
    measured: 300,
    open: t => raw(t, Buffer.concat([Buffer.from(handshake('/socket/never')), messages()])),
  },
  {
    ...SOCKETS,
    ...BUFFERED,
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

/** A connection from the target's next address. */
function connectTo(port: number, { from }: Target): Socket {
  return connect({ port, host: '127.0.0.1', ...(from && { localAddress: from() }) });
}

/** Sends this and reads whatever comes. */
async function raw(target: Target, bytes: string | Buffer): Promise<Closable> {
  const socket = connectTo(target.port, target);
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.resume();
  if (bytes.length > 0) socket.write(bytes);
  return socket;
}

/** Sends this and reads nothing. */
async function deaf(target: Target, bytes: string | Buffer): Promise<Closable> {
  const socket = connectTo(target.port, target);
  socket.on('error', () => {});
  socket.pause();
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

function halfHead(target: Target): Promise<Closable> {
  return raw(target, head('GET /small', `X: ${'-'.repeat(16_000)}`).slice(0, -4));
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
      Buffer.from(PREFACE),
      Buffer.from([...settings, ...headers]),
      block.subarray(0, 16_000),
      Buffer.from(more),
      block.subarray(0, 12_288),
    ]),
  );
}

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

/**
 * So many requests over HTTP/2, with a window of 0 for the bodies of their answers. The first puts its fields into the table of HPACK, the
 * others name them there (RFC 7541, 6.2.1 and 6.1): 13 bytes each.
 */
function http2Requests(count: number, method: string, path: string): Buffer {
  // SETTINGS_INITIAL_WINDOW_SIZE (4) is 0.
  const settings = Buffer.from([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]);
  const entered = (index: number, value: string) => [0x40 | index, value.length, ...Buffer.from(value)];
  // 0x86 is `:scheme: http`; 2, 4 and 1 name `:method`, `:path` and `:authority`.
  const first = Buffer.from([0x86, ...entered(2, method), ...entered(4, path), ...entered(1, 'caps')]);
  const others = Buffer.from([0x86, 0xc0, 0xbf, 0xbe]);
  const frames = Array.from({ length: count }, (_, index) => {
    const block = index === 0 ? first : others;
    const head = Buffer.from([0, 0, block.length, 1, 5, 0, 0, 0, 0]);
    head.writeUInt32BE(2 * index + 1, 5);
    return Buffer.concat([head, block]);
  });
  return Buffer.concat([Buffer.from(PREFACE), settings, ...frames]);
}

const OWN_ANSWERS = http2Requests(100, 'GET', '/own');
/** The kernel has room for the first thousands of answers. */
const HEADS = http2Requests(200_000, 'HEAD', '/own');

/** Sends 64,000 of 65,000 bytes. */
function signInBody(target: Target): Promise<Closable> {
  const fields = ['Content-Type: application/json', 'Content-Length: 65000'];
  return raw(target, head('POST /v1/anonymous/auth', ...fields) + 'a'.repeat(64_000));
}

async function tls(target: Target): Promise<Closable> {
  const options = { socket: connectTo(target.tlsPort, target), servername: 'localhost' };
  const socket = connectTls({ ...options, ALPNProtocols: ['h2'], rejectUnauthorized: false });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  socket.write(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0', 'latin1'));
  return socket;
}

function sessionTo(target: Target): ClientHttp2Session {
  const createConnection = () => connectTo(target.port, target);
  return connectHttp2(`http://127.0.0.1:${target.port}`, { maxSessionMemory: 1_000, createConnection });
}

/** Opens streams on one connection. Of their responses, nothing is read. */
async function streams(
  target: Target,
  count: number,
  path: string,
  body: Buffer | null = null,
): Promise<Closable> {
  const session = sessionTo(target);
  session.on('error', () => {});
  await once(session, 'remoteSettings');
  for (let i = 0; i < count; i++) {
    const stream = session.request({ ':path': path, ':method': body === null ? 'GET' : 'POST' });
    stream.on('error', () => {});
    if (body !== null) stream.write(body);
  }
  return session;
}

async function calls(target: Target, method: string, body = grpcMessage(10)): Promise<Closable> {
  const session = sessionTo(target);
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
