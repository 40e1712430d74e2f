import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { waitFor } from './wait.ts';

/** Frame types of HTTP/2 (RFC 9113, 6). */
export const TYPE = {
  ...{ data: 0, headers: 1, rstStream: 3, settings: 4, pushPromise: 5 },
  ...{ ping: 6, goaway: 7, windowUpdate: 8, continuation: 9 },
} as const;
export const FLAG = { none: 0, endStream: 1, ack: 1, endHeaders: 4 } as const;

const PREFACE_BYTES = 24;
const HEAD_BYTES = 9;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** A frame as it is written; nothing about it need be right. */
export function frame(type: number, flags: number, stream: number, payload: Buffer | string = ''): Buffer {
  const body = Buffer.from(payload as string, 'latin1');
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(body.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

export function uint32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [i, value] of values.entries()) bytes.writeUInt32BE(value, 4 * i);
  return bytes;
}

/** A SETTINGS frame of identifiers and values. */
function settings(values: Readonly<Record<number, number>> = {}): Buffer {
  const parts = Object.entries(values).map(([id, value]) =>
    Buffer.concat([Buffer.from([0, Number(id)]), uint32(value)]),
  );
  return frame(TYPE.settings, FLAG.none, 0, Buffer.concat(parts));
}

/** A header block of literals without indexing (RFC 7541, 6.2.2): each name and value as it is given. */
export function block(
  fields: Readonly<Record<string, string>> | readonly (readonly [string, string])[],
): Buffer {
  const pairs = Array.isArray(fields) ? fields : Object.entries(fields);
  return Buffer.concat(
    pairs.map(([name, value]) => Buffer.concat([Buffer.from([0]), literal(name), literal(value)])),
  );
}

/** A HEADERS frame that holds its whole block. */
export function headers(
  stream: number,
  fields: Parameters<typeof block>[0],
  flags: number = FLAG.none,
): Buffer {
  return frame(TYPE.headers, flags | FLAG.endHeaders, stream, block(fields));
}

export function data(stream: number, bytes: string | Buffer, flags: number = FLAG.none): Buffer {
  return frame(TYPE.data, flags, stream, bytes);
}

/** A length with a prefix of 7 bits (RFC 7541, 5.1), then the text. */
function literal(text: string): Buffer {
  const bytes: number[] = [Math.min(text.length, 127)];
  if (text.length >= 127) {
    let rest = text.length - 127;
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
    bytes.push(rest);
  }
  return Buffer.concat([Buffer.from(bytes), Buffer.from(text, 'latin1')]);
}

/** What a server of frames does. */
export interface FrameScript {
  /** Its SETTINGS; null: none are sent. */
  readonly settings?: Readonly<Record<number, number>> | null;
  /** A request has begun on this stream. */
  readonly stream?: (peer: FramePeer, stream: number) => unknown;
  /** A PING has come. Default: it is acknowledged. */
  readonly ping?: (peer: FramePeer, payload: Buffer) => unknown;
}

/** One connection to a server of frames. */
export class FramePeer {
  readonly socket: Socket;
  readonly frames: Frame[] = [];
  #rest = Buffer.alloc(0);
  #prefaceRead = false;
  readonly #script: FrameScript;

  constructor(socket: Socket, script: FrameScript) {
    this.socket = socket;
    this.#script = script;
    socket.on('error', () => {});
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    if (script.settings !== null) socket.write(settings(script.settings));
  }

  send(...parts: Buffer[]): void {
    if (this.socket.writable) this.socket.write(Buffer.concat(parts));
  }

  /** The first frame of this type and stream, now or later. */
  async next(type: number, stream?: number): Promise<Frame> {
    const found = () =>
      this.frames.find(each => each.type === type && each.stream === (stream ?? each.stream));
    await waitFor(`a frame of type ${type} comes`, () => found() !== undefined);
    return found() as Frame;
  }

  #take(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    if (!this.#prefaceRead) {
      if (this.#rest.length < PREFACE_BYTES) return;
      this.#rest = this.#rest.subarray(PREFACE_BYTES);
      this.#prefaceRead = true;
    }
    while (this.#rest.length >= HEAD_BYTES) {
      const end = HEAD_BYTES + this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < end) return;
      const [type = 0, flags = 0] = this.#rest.subarray(3, 5);
      const stream = this.#rest.readUInt32BE(5) & 0x7fffffff;
      const payload = this.#rest.subarray(HEAD_BYTES, end);
      this.#rest = this.#rest.subarray(end);
      this.frames.push({ type, flags, stream, payload });
      this.#on(type, flags, stream, payload);
    }
  }

  #on(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === TYPE.headers) void this.#script.stream?.(this, stream);
    if (type === TYPE.settings && flags !== FLAG.ack) this.send(frame(TYPE.settings, FLAG.ack, 0));
    if (type !== TYPE.ping || flags === FLAG.ack) return;
    if (this.#script.ping === undefined) this.send(frame(TYPE.ping, FLAG.ack, 0, payload));
    else void this.#script.ping(this, payload);
  }
}

/** Starts an HTTP/2 server that sends whatever bytes a test wants. The end of the running test ends it. */
export async function startFrameUpstream(
  script: FrameScript,
): Promise<{ readonly port: number; readonly peers: readonly FramePeer[] }> {
  const peers: FramePeer[] = [];
  const server = createServer(socket => void peers.push(new FramePeer(socket.setNoDelay(), script)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const { socket } of peers) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, peers };
}
