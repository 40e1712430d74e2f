import { connect, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls';
import { onTestFinished } from 'vitest';
import { FLAG, type Frame, frame, HEAD_BYTES, PREFACE, settings, TYPE, wholeFrames } from './frame-bytes.ts';
import { waitFor } from './wait.ts';

export {
  block,
  FLAG,
  type Frame,
  frame,
  headers,
  PREFACE,
  request,
  settings,
  TYPE,
  uint32,
  wholeFrames,
} from './frame-bytes.ts';

/** Opens a connection that the end of the running test closes: over TLS, if that has options. */
export async function connectFrames(port: number, tls?: TlsOptions): Promise<FrameClient> {
  const host = '127.0.0.1';
  const wire = connect({ port, host, noDelay: true });
  const socket = tls === undefined ? wire : connectTls({ ALPNProtocols: ['h2'], ...tls, socket: wire });
  const event = tls === undefined ? 'connect' : 'secureConnect';
  await new Promise((resolve, reject) => socket.once(event, resolve).once('error', reject));
  onTestFinished(() => void socket.destroy());
  return new FrameClient(socket);
}

/** A client that sends any bytes at all and sees the frames that come back. It answers none of them. */
export class FrameClient {
  readonly frames: Frame[] = [];
  readonly #socket: Socket;
  #rest: Buffer = Buffer.alloc(0);
  bytesRead = 0;
  closed = false;
  /** The connection was reset, so that what came last may be lost. */
  broken = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('error', () => {
      this.broken = true;
    });
    socket.on('end', () => {
      this.closed = true;
    });
    socket.on('close', () => {
      this.closed = true;
    });
  }

  /**
   * Sends the preface with these SETTINGS, and acknowledges those of the other side. HPACK's dynamic table is switched off, so that
   * each status can be read by itself.
   */
  async begin(...pairs: (readonly [id: number, value: number])[]): Promise<this> {
    await this.send(PREFACE, settings([1, 0], ...pairs));
    await this.next(each => each.type === TYPE.settings);
    await this.send(frame(TYPE.settings, FLAG.ack, 0));
    return this;
  }

  /** Resolves when the system took the bytes, or the connection is gone. */
  send(...parts: (Buffer | string)[]): Promise<void> {
    const bytes = Buffer.concat(
      parts.map(part => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)),
    );
    return new Promise(resolve => {
      if (this.#socket.writable) this.#socket.write(bytes, () => resolve());
      else resolve();
    });
  }

  /** Reads nothing more for now. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** The first frame that is such a one, now or later. */
  async next(is: (frame: Frame) => boolean): Promise<Frame> {
    let found: Frame | undefined;
    await waitFor('the frame comes', () => {
      found = this.frames.find(is);
      return found !== undefined;
    });
    return found as Frame;
  }

  /** The status of a stream's final response, once it is there. */
  async status(stream: number): Promise<number> {
    const isFinal = (each: Frame) =>
      each.type === TYPE.headers && each.stream === stream && statusOf(each.payload) >= 200;
    return statusOf((await this.next(isFinal)).payload);
  }

  /** The error code by which a stream was reset, once it was. */
  async reset(stream: number): Promise<number> {
    return (
      await this.next(each => each.type === TYPE.rstStream && each.stream === stream)
    ).payload.readUInt32BE();
  }

  /** The error code of GOAWAY, once that is there. */
  async goaway(): Promise<number> {
    return (await this.next(each => each.type === TYPE.goaway)).payload.readUInt32BE(4);
  }

  /** The last streams that the GOAWAYs so far name: higher ones are not served. */
  get lastStreams(): number[] {
    return this.frames.filter(each => each.type === TYPE.goaway).map(each => each.payload.readUInt32BE(0));
  }

  /** Answers a PING of the other side, once it is there. */
  async answerPing(): Promise<void> {
    const { payload } = await this.next(each => each.type === TYPE.ping && each.flags === 0);
    await this.send(frame(TYPE.ping, FLAG.ack, 0, payload));
  }

  #take(bytes: Buffer): void {
    this.bytesRead += bytes.length;
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const whole = wholeFrames(this.#rest);
    this.frames.push(...whole);
    this.#rest = this.#rest.subarray(whole.reduce((at, { payload }) => at + HEAD_BYTES + payload.length, 0));
  }
}

/** Indexed statuses of HPACK's static table (RFC 7541, A). */
const STATIC_STATUS: Record<number, number> = {
  ...{ 136: 200, 137: 204, 138: 206, 139: 304, 140: 400, 141: 404, 142: 500 },
};

/** The `:status` at the beginning of a header block, as nghttp2 writes it; 0: it cannot be read here. */
function statusOf(payload: Buffer): number {
  let at = 0;
  // Changes of the dynamic table's size.
  while (((payload[at] ?? 0) & 0xe0) === 0x20) at += (payload[at] ?? 0) === 0x3f ? 2 : 1;
  const first = payload[at] ?? 0;
  const indexed = STATIC_STATUS[first];
  if (indexed !== undefined) return indexed;
  if (first !== 0x48 && first !== 0x08) return 0;
  const length = (payload[at + 1] ?? 0) & 0x7f;
  const value = payload.subarray(at + 2, at + 2 + length);
  return ((payload[at + 1] ?? 0) & 0x80) === 0 ? Number(value.toString('latin1')) : huffmanDigits(value);
}

/** Digits of Huffman codes (RFC 7541, B): 0 to 2 take five bits, the others six. */
function huffmanDigits(bytes: Buffer): number {
  const bits = [...bytes].map(byte => byte.toString(2).padStart(8, '0')).join('');
  let digits = '';
  for (let at = 0; at + 5 <= bits.length && digits.length < 3; ) {
    const short = Number.parseInt(bits.slice(at, at + 5), 2);
    digits += short <= 2 ? short : Number.parseInt(bits.slice(at, at + 6), 2) - 0x16;
    at += short <= 2 ? 5 : 6;
  }
  return Number(digits);
}
