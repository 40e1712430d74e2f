import { FieldGrade, HeaderDecoder } from '../../../src/wire/http2/index.ts';
import {
  FLAG,
  frame,
  HEAD_BYTES,
  headers,
  PREFACE,
  settings,
  TYPE,
  uint32,
} from '../../support/frame-bytes.ts';
import type { WorldSocket } from '../network/socket.ts';
import type { Asked } from '../requests.ts';
import type { World } from '../world.ts';

/** A window that nobody uses up. */
export const WIDE = 0x3fff_ffff;
const FIRST_WINDOW = 65_535;
/** SETTINGS_INITIAL_WINDOW_SIZE (RFC 9113, 6.5.2). */
const INITIAL_WINDOW = 4;

/** What a client sends of a request. */
export interface Said {
  readonly asked: Asked;
  readonly fields: readonly (readonly [string, string])[];
  readonly body: Buffer;
  /** Whether the request ends behind that. */
  readonly ends: boolean;
}

/** A response, as far as it was read. */
export interface Taken {
  readonly asked: Asked;
  /** 0 until a head has come. */
  status: number;
  bytes: number;
  isWhole: boolean;
  isBroken: boolean;
}

/** A connection of a client that decides what it reads, and when. */
export interface SlothLine {
  readonly socket: WorldSocket;
  /** What came of its requests, in their order. */
  readonly taken: readonly Taken[];
  ask(said: Said): void;
  /** Takes so many bytes more, by whatever holds the gateway back. */
  grant(bytes: number): void;
  /** Takes all that comes from now on. */
  grantAll(): void;
  /** Shows that it is there, if its protocol has a way. */
  ping(): void;
  /** Whether its gateway waits for it by a window; `null`: only its system can tell. */
  readonly isOwed: boolean | null;
  /** Whether the gateway has ended the last of its requests, or all. */
  readonly isGone: boolean;
}

/** Tells when the gateway has read what was written so far. */
class Writer {
  readonly #world: World;
  readonly #socket: WorldSocket;
  #sent = 0;

  constructor(world: World, socket: WorldSocket) {
    this.#world = world;
    this.#socket = socket;
  }

  write(bytes: Buffer, asked: Asked | null = null): void {
    if (!this.#socket.writable) return;
    this.#sent += bytes.length;
    this.#socket.write(bytes);
    if (asked === null) return;
    this.#socket.oncePeerRead(this.#sent, () => {
      asked.readMs = this.#world.nowMs;
    });
  }
}

/** A line of HTTP/1.1. What it reads is only counted. */
export class Http1SlothLine implements SlothLine {
  readonly socket: WorldSocket;
  readonly taken: Taken[] = [];
  readonly isOwed = null;
  readonly #writer: Writer;
  #head = '';
  #length = Number.POSITIVE_INFINITY;

  constructor(world: World, socket: WorldSocket) {
    this.socket = socket;
    this.#writer = new Writer(world, socket);
    socket.on('data', (piece: Buffer) => this.#take(piece));
    socket.on('error', () => {});
  }

  get isGone(): boolean {
    return this.socket.destroyed || this.socket.readableEnded;
  }

  ask({ asked, fields, body, ends }: Said): void {
    const { method, path } = asked;
    const length = ends ? body.length : 2 * body.length + 1_000;
    const upgrade = fields.some(([name]) => name === 'upgrade');
    const framing = upgrade ? '' : `Content-Length: ${length}\r\n`;
    const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const head = `${method} ${path} HTTP/1.1\r\nHost: api.test\r\n${lines}${framing}\r\n`;
    this.taken.push({ asked, status: 0, bytes: 0, isWhole: false, isBroken: false });
    this.#writer.write(Buffer.concat([Buffer.from(head), body]), asked);
  }

  grant(bytes: number): void {
    this.socket.ration(bytes);
  }

  grantAll(): void {
    this.socket.ration(WIDE);
  }

  ping(): void {}

  /** Reads the first response; those behind it are not looked at. */
  #take(piece: Buffer): void {
    const [first] = this.taken;
    if (first === undefined || first.isWhole) return;
    if (first.status > 0) first.bytes += piece.length;
    else {
      this.#head += piece.toString('latin1');
      const end = this.#head.indexOf('\r\n\r\n');
      if (end < 0) return;
      first.status = Number(this.#head.slice(9, 12));
      first.bytes = this.#head.length - end - 4;
      const [, length] = /content-length: (\d+)/i.exec(this.#head.slice(0, end)) ?? [];
      if (length !== undefined) this.#length = Number(length);
    }
    first.isWhole = first.bytes >= this.#length;
  }
}

export interface Windows {
  /** Of each stream, and of the connection, to begin with. */
  readonly stream: number;
  readonly connection: number;
  /** What it makes room by. */
  readonly by: 'socket' | 'stream' | 'connection';
}

/** A line of HTTP/2, written by hand: its windows are what it wants. */
export class Http2SlothLine implements SlothLine {
  readonly socket: WorldSocket;
  readonly taken: Taken[] = [];
  readonly #writer: Writer;
  readonly #windows: Windows;
  readonly #decoder = new HeaderDecoder({ maxBytes: 100_000, maxFields: 500 }, () => FieldGrade.FIELD);
  #bytes = Buffer.alloc(0);
  #connectionWindow = FIRST_WINDOW;
  #streamWindows: number[] = [];
  #isGoing = false;

  constructor(world: World, socket: WorldSocket, windows: Windows) {
    this.socket = socket;
    this.#windows = windows;
    this.#writer = new Writer(world, socket);
    this.#writer.write(Buffer.concat([Buffer.from(PREFACE), settings([INITIAL_WINDOW, windows.stream])]));
    if (windows.connection > FIRST_WINDOW) this.#widen(0, windows.connection - FIRST_WINDOW);
    socket.on('data', (piece: Buffer) => this.#take(piece));
    socket.on('error', () => {});
  }

  get isGone(): boolean {
    const isBroken = this.taken.at(-1)?.isBroken === true;
    return this.socket.destroyed || this.socket.readableEnded || this.#isGoing || isBroken;
  }

  get isOwed(): boolean | null {
    const { by } = this.#windows;
    const last = this.taken.at(-1);
    if (by === 'socket') return null;
    if (last === undefined || last.status === 0 || last.isWhole || last.isBroken) return false;
    return by === 'stream' ? (this.#streamWindows.at(-1) ?? 0) <= 0 : this.#connectionWindow <= 0;
  }

  ask({ asked, fields, body, ends }: Said): void {
    const { method, path } = asked;
    const id = 2 * this.taken.length + 1;
    const all: (readonly [string, string])[] = [
      [':method', method],
      [':scheme', 'http'],
      [':authority', 'api.test'],
      [':path', path],
      ...fields,
    ];
    const endsAtOnce = ends && body.length === 0;
    this.taken.push({ asked, status: 0, bytes: 0, isWhole: false, isBroken: false });
    this.#streamWindows.push(this.#windows.stream);
    const parts = [headers(id, all, FLAG.endHeaders | (endsAtOnce ? FLAG.endStream : 0))];
    if (body.length > 0) parts.push(frame(TYPE.data, ends ? FLAG.endStream : 0, id, body));
    this.#writer.write(Buffer.concat(parts), asked);
  }

  grant(bytes: number): void {
    const { by } = this.#windows;
    if (by === 'socket') this.socket.ration(bytes);
    else if (by === 'connection') this.#widen(0, bytes);
    else if (this.taken.length > 0) this.#widen(2 * this.taken.length - 1, bytes);
  }

  grantAll(): void {
    this.socket.ration(WIDE);
    for (let i = 0; i < this.taken.length; i++) this.#widen(2 * i + 1, WIDE);
  }

  ping(): void {
    this.#writer.write(frame(TYPE.ping, 0, 0, Buffer.alloc(8)));
  }

  #widen(stream: number, bytes: number): void {
    if (stream === 0) this.#connectionWindow += bytes;
    else this.#streamWindows[(stream - 1) / 2] = (this.#streamWindows[(stream - 1) / 2] ?? 0) + bytes;
    this.#writer.write(frame(TYPE.windowUpdate, 0, stream, uint32(bytes)));
  }

  #take(piece: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, piece]);
    for (;;) {
      if (this.#bytes.length < HEAD_BYTES) return;
      const end = HEAD_BYTES + this.#bytes.readUIntBE(0, 3);
      if (this.#bytes.length < end) return;
      const payload = this.#bytes.subarray(HEAD_BYTES, end);
      this.#hear(this.#bytes.readUInt8(3), this.#bytes.readUInt8(4), this.#bytes.readUInt32BE(5), payload);
      this.#bytes = this.#bytes.subarray(end);
    }
  }

  #hear(type: number, flags: number, stream: number, payload: Buffer): void {
    const isAck = (flags & FLAG.ack) !== 0;
    if (type === TYPE.settings && !isAck) this.#writer.write(frame(TYPE.settings, FLAG.ack, 0));
    else if (type === TYPE.ping && !isAck) this.#writer.write(frame(TYPE.ping, FLAG.ack, 0, payload));
    else if (type === TYPE.goaway) this.#isGoing = payload.readUInt32BE(4) !== 0;
    const taken = this.taken[(stream - 1) / 2];
    if (taken === undefined) return;
    if (type === TYPE.headers) {
      const { fields } = this.#decoder.decode(payload);
      if (taken.status < 200) taken.status = Number(fields[fields.indexOf(':status') + 1]);
    } else if (type === TYPE.data) {
      taken.bytes += payload.length;
      this.#connectionWindow -= payload.length;
      this.#streamWindows[(stream - 1) / 2] = (this.#streamWindows[(stream - 1) / 2] ?? 0) - payload.length;
    } else if (type === TYPE.rstStream) taken.isBroken = true;
    const mayEnd = type === TYPE.headers || type === TYPE.data;
    if (mayEnd && (flags & FLAG.endStream) !== 0) taken.isWhole = true;
  }
}
