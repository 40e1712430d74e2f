import type { AddressInfo, OnReadOpts, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { Draws } from '../kernel/draws.ts';
import type { Owner } from '../kernel/timeline.ts';
import { Pipe } from './pipe.ts';
import type { Wires } from './wires.ts';

/** A machine on the network. */
export interface NetworkHome {
  readonly name: string;
  readonly address: string;
  readonly disk: { put(path: string, text: string): void; inodeOf(path: string): number | undefined };
}

export interface WorldSocketOptions {
  readonly host: NetworkHome;
  readonly owner: Owner;
  readonly draws: Draws;
  readonly allowHalfOpen?: boolean;
  readonly onread?: OnReadOpts | undefined;
}

/** As Node.js reads from a system. */
const READ_BYTES = 65_536;

/** One end of a connection in a world. It behaves as a `Socket` of Node.js does towards all that Weir and `node:http` ask of one. */
export class WorldSocket extends Duplex {
  readonly host: NetworkHome;
  readonly owner: Owner;
  readonly draws: Draws;
  connecting = false;
  /** Whether it was accepted. */
  isServer = false;
  remoteAddress: string | undefined;
  remotePort: number | undefined;
  remoteFamily: string | undefined = 'IPv4';
  localAddress: string | undefined;
  localPort: number | undefined;
  bytesRead = 0;
  timeout = 0;
  readonly #wires: Wires;
  readonly #onread: OnReadOpts | undefined;
  /** The memory that `onread` gave for the next read. */
  #buffer: Uint8Array | null = null;
  #peer: WorldSocket | null = null;
  #outgoing: Pipe | null = null;
  #incoming: Pipe | null = null;
  /** What has arrived and was not read; `null` is the end. */
  readonly #arrived: (Buffer | null)[] = [];
  /** Whether the process reads. */
  #reads = false;
  #willRead = false;
  #rests = false;
  /** How many bytes its process will read yet. */
  #ration = Number.POSITIVE_INFINITY;
  /** The peer has broken the connection, and this process has not noticed. */
  #isReset = false;
  #sentBytes = 0;
  /** Bytes of the write that the system has not taken whole. */
  #writingBytes = 0;
  #timer: { run: unknown } | null = null;
  /** Ends the write that the system has not taken whole; `null`: there is none. */
  #endWrite: ((error?: Error) => void) | null = null;
  /** What was written before the connection was there. */
  #early: (() => void)[] = [];
  /** Called when the process at the other end has read so many bytes. */
  readonly #marks: { readonly bytes: number; readonly reached: () => void }[] = [];

  constructor(wires: Wires, options: WorldSocketOptions) {
    super({ allowHalfOpen: options.allowHalfOpen === true, emitClose: true, decodeStrings: true });
    this.#wires = wires;
    this.host = options.host;
    this.owner = options.owner;
    this.draws = options.draws;
    this.#onread = options.onread;
    if (options.onread !== undefined) {
      const { buffer } = options.onread;
      this.#buffer = typeof buffer === 'function' ? buffer() : buffer;
    }
    wires.sockets.add(this);
    this.on('end', () => this.#touch());
  }

  /** Joins two ends. */
  static join(one: WorldSocket, other: WorldSocket, roomBytes: number): void {
    one.#peer = other;
    other.#peer = one;
    one.#outgoing = other.#incoming = new Pipe(one.#wires, one, other, roomBytes);
    one.#incoming = other.#outgoing = new Pipe(one.#wires, other, one, roomBytes);
  }

  get asSocket(): Socket {
    return this as unknown as Socket;
  }

  /** Whether its process has it open. */
  get isOpen(): boolean {
    return this.owner.isAlive && !this.destroyed;
  }

  get bytesWritten(): number {
    return this.#sentBytes + this.writableLength - this.#writingBytes;
  }

  get pending(): boolean {
    return this.connecting;
  }

  get readyState(): string {
    if (this.connecting) return 'opening';
    if (this.readable && this.writable) return 'open';
    return this.readable ? 'readOnly' : this.writable ? 'writeOnly' : 'closed';
  }

  get peer(): WorldSocket | null {
    return this.#peer;
  }

  /** The connection is established. */
  established(): void {
    this.connecting = false;
    const early = this.#early;
    this.#early = [];
    this.emit('connect');
    this.emit('ready');
    for (const write of early) write();
    if (!this.isPaused()) this.read(0);
    this.#handSoon();
  }

  /** Calls back when the process at the other end has read so many bytes of the connection. */
  oncePeerRead(bytes: number, reached: () => void): void {
    this.#marks.push({ bytes, reached });
  }

  /** Its process reads nothing for a while: what comes stays with the systems, as far as they have room. */
  rest(ms: number): void {
    this.#rests = true;
    this.#wires.kernel.after(ms, this.owner, () => {
      this.#rests = false;
      this.#hand();
    });
  }

  /** Its process reads so many bytes more, and no others until this is called again. */
  ration(bytes: number): void {
    this.#ration = Number.isFinite(this.#ration) ? this.#ration + bytes : bytes;
    this.#handSoon();
  }

  /** How many bytes its system has sent, and the other system has not taken. */
  get unacknowledgedBytes(): number {
    return this.#outgoing?.unacknowledgedBytes ?? 0;
  }

  /** Most bytes that both systems hold for the process at the other end. */
  get roomBytes(): number {
    return this.#outgoing?.roomBytes ?? 0;
  }

  /** The two ends lose each other without a word. */
  lose(): void {
    if (this.#outgoing !== null) this.#outgoing.isLost = true;
    if (this.#incoming !== null) this.#incoming.isLost = true;
  }

  /** Something on the way breaks the connection: both ends are told. */
  cut(): void {
    this.#outgoing?.reset();
    this.#incoming?.reset();
  }

  takeParcel(bytes: Buffer | null): void {
    if (this.#isReset) return;
    this.#arrived.push(bytes);
    this.#hand();
  }

  /** The system answers a parcel for a socket that is no more. */
  refuseParcel(): void {
    this.#outgoing?.reset();
  }

  takeReset(): void {
    if (this.destroyed || this.#isReset) return;
    this.#isReset = true;
    this.#arrived.length = 0;
    // A process that neither reads nor writes does not notice.
    if (this.#reads || this.writableLength > 0) this.#noticeReset('read');
  }

  /** The process that had it is gone: its system tells the other end. */
  abandon(isSilent: boolean): void {
    if (this.destroyed) return;
    this.#wires.sockets.delete(this);
    this.#wires.abandoned.push(this);
    if (isSilent) return;
    if (this.#arrived.length > 0 || this.writableLength > 0) this.#outgoing?.reset();
    else this.#outgoing?.end();
  }

  override _read(): void {
    this.#reads = true;
    if (this.connecting) return;
    if (this.#isReset) this.#noticeReset('read');
    else this.#handSoon();
  }

  override pause(): this {
    if (this.#onread !== undefined) this.#reads = false;
    return super.pause();
  }

  override resume(): this {
    if (this.#onread !== undefined && !this.connecting) {
      this.#reads = true;
      this.#handSoon();
    }
    return super.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.#write([chunk], done);
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: (error?: Error) => void): void {
    this.#write(
      chunks.map(({ chunk }) => chunk),
      done,
    );
  }

  override _final(done: () => void): void {
    if (this.connecting) {
      this.#early.push(() => this._final(done));
      return;
    }
    if (!this.#isReset) this.#outgoing?.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#wires.sockets.delete(this);
    if (this.#timer !== null) this.#timer.run = null;
    const unread = this.#arrived.some(piece => piece !== null);
    this.#arrived.length = 0;
    if (this.owner.isAlive && !this.#isReset) {
      // A system that throws away what came, or what it was to send, says so.
      if (unread || !this.writableFinished) this.#leave(unread);
    }
    // As in Node.js, where closing cancels it. Otherwise the stream would call back for no write behind it either.
    if (this.#endWrite !== null) process.nextTick(this.#endWrite, fault('ECANCELED', 'write'));
    done(error);
    this.#touch();
  }

  #leave(unread: boolean): void {
    if (unread) this.#outgoing?.reset();
    else this.#outgoing?.end();
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  resetAndDestroy(): this {
    if (this.destroyed) return this;
    if (!this.#isReset) this.#outgoing?.reset();
    this.#isReset = true;
    return this.destroy();
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  address(): AddressInfo {
    return { address: this.localAddress ?? '', port: this.localPort ?? 0, family: 'IPv4' };
  }

  setTimeout(ms: number, whenIdle?: () => void): this {
    this.timeout = ms;
    if (whenIdle !== undefined) {
      if (ms > 0) this.once('timeout', whenIdle);
      else this.off('timeout', whenIdle);
    }
    this.#touch();
    return this;
  }

  /** Something moved: the time until it counts as idle begins anew. */
  #touch(): void {
    if (this.#timer !== null) this.#timer.run = null;
    this.#timer = null;
    if (this.timeout === 0 || this.destroyed) return;
    this.#timer = this.#wires.kernel.after(this.timeout, this.owner, () => {
      this.#timer = null;
      this.emit('timeout');
    });
  }

  #write(bytes: readonly Buffer[], done: (error?: Error) => void): void {
    if (this.connecting) {
      this.#endWrite = done;
      this.#early.push(() => this.#write(bytes, done));
      return;
    }
    this.#endWrite = null;
    if (this.#isReset) {
      done(fault('ECONNRESET', 'write'));
      return;
    }
    this.#touch();
    for (const each of bytes) this.#writingBytes += each.length;
    this.#sentBytes += this.#writingBytes;
    this.#endWrite = done;
    this.#outgoing?.send(bytes, () => {
      this.#endWrite = null;
      this.#writingBytes = 0;
      if (!this.destroyed) done();
    });
  }

  #noticeReset(call: string): void {
    this.destroy(fault('ECONNRESET', call));
  }

  /** The event loop finds the bytes later, never within the call that asks for them. */
  #handSoon(): void {
    if (this.#willRead || this.#arrived.length === 0) return;
    this.#willRead = true;
    this.#wires.kernel.after(0, this.owner, () => {
      this.#willRead = false;
      this.#hand();
    });
  }

  #hand(): void {
    while (this.#reads && !this.#rests && !this.destroyed) {
      if (this.#ration === 0 && this.#arrived[0] !== null) return;
      const piece = this.#arrived.shift();
      if (piece === undefined) return;
      this.#touch();
      if (piece === null) {
        this.push(null);
        this.read(0);
        return;
      }
      this.#handPiece(piece);
    }
  }

  #handPiece(piece: Buffer): void {
    const room = Math.min(this.#buffer?.length ?? READ_BYTES, this.#ration);
    this.#ration -= Math.min(piece.length, room);
    const bytes = piece.subarray(0, room);
    if (bytes.length < piece.length) this.#arrived.unshift(piece.subarray(room));
    this.bytesRead += bytes.length;
    this.#incoming?.read(bytes.length);
    const marks = this.#peer === null ? [] : this.#peer.#marks;
    while ((marks[0]?.bytes ?? Number.POSITIVE_INFINITY) <= this.bytesRead) marks.shift()?.reached();
    if (!this.#take(bytes)) this.#reads = false;
  }

  #take(bytes: Buffer): boolean {
    if (this.#onread === undefined || this.#buffer === null) return this.push(bytes);
    const { buffer, callback } = this.#onread;
    bytes.copy(this.#buffer);
    const goesOn = callback(bytes.length, this.#buffer) !== false;
    if (typeof buffer === 'function') this.#buffer = buffer();
    return goesOn;
  }
}

/** An error as Node.js makes it of what the system says. */
export function fault(code: string, syscall: string): Error {
  return Object.assign(new Error(`${syscall} ${code}`), { code, syscall });
}
