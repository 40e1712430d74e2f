import { EventEmitter } from 'node:events';
import type { OnReadOpts, Socket } from 'node:net';
import type { Connect } from '../../src/upstream/connect.ts';
import { FieldGrade, HeaderDecoder } from '../../src/wire/http2/hpack/index.ts';
import { frame, headers, settings, TYPE } from './http2-frames.ts';

const PREFACE_BYTES = 24;
const HEAD_BYTES = 9;

/** The gateway's end of a connection in memory, to an upstream whose frames a test brings. */
export class FrameSocket extends EventEmitter {
  bytesRead = 0;
  /** What the system has not taken. */
  writableLength = 0;
  destroyed = false;
  errored: Error | null = null;
  /** The system takes nothing. */
  full = false;
  /** As the system would, it reads what it has not taken when it takes it. */
  #written: Buffer[] = [];
  readonly #onread: OnReadOpts;
  readonly #decoder = new HeaderDecoder({ maxBytes: 1_000_000, maxFields: 1_000 }, () => FieldGrade.FIELD);

  constructor(onread: OnReadOpts) {
    super();
    this.#onread = onread;
  }

  write(bytes: Buffer): boolean {
    this.#written.push(this.full ? bytes : Buffer.from(bytes));
    if (this.full) this.writableLength += bytes.length;
    return !this.full;
  }

  /** The system takes everything again. */
  drain(): void {
    this.full = false;
    this.writableLength = 0;
    this.#written = this.#written.map(bytes => Buffer.from(bytes));
    this.emit('drain');
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    process.nextTick(() => this.emit('close'));
  }

  destroySoon(): void {
    if (!this.full) this.destroy();
  }

  /** The upstream sends. Nothing more is read of a socket that is destroyed. */
  bring(...frames: Buffer[]): void {
    for (const each of frames) {
      if (this.destroyed) return;
      const { buffer, callback } = this.#onread;
      const room = typeof buffer === 'function' ? buffer() : buffer;
      this.bytesRead += each.length;
      room.set(each);
      callback(each.length, room);
    }
  }

  /** The connection is made, and the upstream's SETTINGS come. */
  open(...pairs: (readonly [number, number])[]): void {
    this.emit('connect');
    this.bring(settings(...pairs));
  }

  /** The upstream answers a stream with a response of this status that has no body. */
  answer(stream: number, status = '200'): void {
    this.bring(headers(stream, [[':status', status]], 5));
  }

  goaway(lastStream: number, code: number): void {
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(lastStream);
    payload.writeUInt32BE(code, 4);
    this.bring(frame(TYPE.goaway, 0, 0, payload));
  }

  /** The types of the frames that were written since the last time, behind the preface, and `headers 1 /path`. */
  sent(): string[] {
    const names: string[] = [];
    let rest: Buffer = Buffer.concat(this.#written);
    if (rest.subarray(0, 3).toString() === 'PRI') rest = rest.subarray(PREFACE_BYTES);
    this.#written = [];
    while (rest.length > 0) {
      const end = HEAD_BYTES + rest.readUIntBE(0, 3);
      names.push(
        this.#name(
          rest.readUInt8(3),
          rest.readUInt8(4),
          rest.readUInt32BE(5),
          rest.subarray(HEAD_BYTES, end),
        ),
      );
      rest = rest.subarray(end);
    }
    return names;
  }

  #name(type: number, flags: number, stream: number, payload: Buffer): string {
    const [name = ''] = Object.entries(TYPE).find(([, each]) => each === type) ?? [];
    if (type !== TYPE.headers) return `${name}${stream > 0 ? ` ${stream}` : ''}${flags & 1 ? ' ack' : ''}`;
    const { fields } = this.#decoder.decode(payload);
    return `${name} ${stream} ${fields[fields.indexOf(':path') + 1]}`;
  }
}

/** Connects to nothing, and keeps the sockets. */
export function frameSockets(): { readonly sockets: FrameSocket[]; readonly connect: Connect } {
  const sockets: FrameSocket[] = [];
  const connect: Connect = (_options, onread) => {
    if (onread === undefined) throw new Error('nothing would be read');
    const socket = new FrameSocket(onread);
    sockets.push(socket);
    return socket as unknown as Socket;
  };
  return { sockets, connect };
}
