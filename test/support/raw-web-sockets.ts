import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { atEnd } from './lifetime.ts';
import { head } from './requests.ts';
import type { RawClient } from './wire/index.ts';

/** The example of RFC 6455, 1.3. */
export const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';

/** A request for a WebSocket, with these fields in place of, or beside, the usual ones. */
export function handshake(target = '/', ...lines: string[]): string {
  const usual = [
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${KEY}`,
  ];
  const named = new Set(lines.map(line => line.split(':')[0]));
  return head(`GET ${target}`, ...usual.filter(line => !named.has(line.split(':')[0])), ...lines);
}

/** The 101 that agrees to a handshake with the usual key. */
export function agreement(...lines: string[]): string {
  return agreementTo(KEY, ...lines);
}

/** The 101 that agrees to the handshake with this head, whatever its key is. */
export function agreementToHead(head: string, ...lines: string[]): string {
  return agreementTo(/^sec-websocket-key: *(\S+)/im.exec(head)?.[1] ?? '', ...lines);
}

function agreementTo(key: string, ...lines: string[]): string {
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  return [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept}`,
    ...lines,
    '\r\n',
  ].join('\r\n');
}

interface FrameOptions {
  readonly opcode?: number;
  readonly final?: boolean;
  readonly masked?: boolean;
  readonly reserved?: number;
  /** How many bytes write the length. Default: as few as will do. */
  readonly lengthBytes?: 0 | 2 | 8;
}

/** A frame (RFC 6455, 5.2), of text by default. The mask is four bytes of 0, which leave the payload readable. */
export function frame(payload: string | Buffer, options: FrameOptions = {}): Buffer {
  const { opcode = 1, final = true, masked = false, reserved = 0 } = options;
  const body = typeof payload === 'string' ? Buffer.from(payload, 'latin1') : payload;
  const lengthBytes = options.lengthBytes ?? (body.length < 126 ? 0 : body.length < 65_536 ? 2 : 8);
  const short = lengthBytes === 0 ? body.length : lengthBytes === 2 ? 126 : 127;
  const length = Buffer.alloc(lengthBytes);
  if (lengthBytes === 2) length.writeUInt16BE(body.length);
  if (lengthBytes === 8) length.writeBigUInt64BE(BigInt(body.length));
  const first = (final ? 0x80 : 0) | reserved | opcode;
  return Buffer.concat([
    Buffer.of(first, (masked ? 0x80 : 0) | short),
    length,
    Buffer.alloc(masked ? 4 : 0),
    body,
  ]);
}

export const masked = (payload: string | Buffer, options: FrameOptions = {}): Buffer =>
  frame(payload, { ...options, masked: true });

/** A Close frame's opcode, and its payload. */
export const CLOSE = 8;
export function closePayload(code: number, reason = ''): Buffer {
  const payload = Buffer.from(`\0\0${reason}`, 'latin1');
  payload.writeUInt16BE(code);
  return payload;
}

/** What came behind the 101. */
export function behindHead({ received }: RawClient): Buffer {
  const at = received.indexOf('\r\n\r\n');
  return at < 0 ? Buffer.alloc(0) : received.subarray(at + 4);
}

/** The server's side of one connection. */
export interface RawPeer {
  readonly socket: Socket;
  /** The head of its request. */
  readonly head: string;
  /** What came behind the head. */
  readonly received: Buffer;
  /** How the gateway ended it: by FIN, by RST, or not yet. */
  readonly end: 'fin' | 'reset' | null;
}

/** An upstream that answers the head of each connection's first request as it likes. The end of the running test ends it. */
export async function startRawUpstream(onRequest: (peer: RawPeer) => void = () => {}): Promise<RawUpstream> {
  const peers: Peer[] = [];
  const server = createServer({ allowHalfOpen: true }, socket => {
    const peer = new Peer(socket, onRequest);
    peers.push(peer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => {
    for (const { socket } of peers) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, peers };
}

export interface RawUpstream {
  readonly port: number;
  readonly peers: readonly RawPeer[];
}

class Peer implements RawPeer {
  readonly socket: Socket;
  head = '';
  received = Buffer.alloc(0);
  end: 'fin' | 'reset' | null = null;

  constructor(socket: Socket, onRequest: (peer: RawPeer) => void) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (bytes: Buffer) => {
      this.received = Buffer.concat([this.received, bytes]);
      const at = this.head === '' ? this.received.indexOf('\r\n\r\n') : -1;
      if (at < 0) return;
      this.head = this.received.toString('latin1', 0, at + 4);
      this.received = this.received.subarray(at + 4);
      onRequest(this);
    });
    socket.on('end', () => {
      this.end ??= 'fin';
    });
    socket.on('error', () => {
      this.end ??= 'reset';
    });
  }
}
