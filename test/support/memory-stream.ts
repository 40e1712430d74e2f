import type { ByteSink, ByteStream } from '../../src/core/index.ts';

/** One end of a switched connection, in memory: a test says what comes and whether what is written is taken. */
export class MemoryStream implements ByteStream {
  written: Buffer = Buffer.alloc(0);
  /** Whether the system takes at once what is written. */
  takes = true;
  paused = false;
  /** What the gateway did to it. */
  state: 'open' | 'ended' | 'ends soon' | 'destroyed' = 'open';
  #sink: ByteSink | null = null;
  readonly #whenGone: (() => void)[] = [];

  start(sink: ByteSink): void {
    this.#sink = sink;
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  write(bytes: Uint8Array): boolean {
    if (this.state === 'open') this.written = Buffer.concat([this.written, bytes]);
    return this.takes;
  }

  end(): void {
    if (this.state === 'open') this.state = 'ended';
  }

  endSoon(): void {
    this.state = 'ends soon';
  }

  destroy(): void {
    this.state = 'destroyed';
  }

  whenGone(then: () => void): void {
    this.#whenGone.push(then);
  }

  /** Its other side sends. */
  bring(...pieces: Buffer[]): void {
    for (const piece of pieces) {
      if (this.paused) throw new Error('a paused stream hands out nothing');
      this.#sink?.bytes(piece);
    }
  }

  /** The system has taken everything. */
  drain(): void {
    this.takes = true;
    this.#sink?.drained();
  }

  /** Its other side closes its direction. */
  finish(): void {
    this.#sink?.ended();
  }

  /** Its connection is gone. */
  vanish(): void {
    this.#sink?.closed();
    for (const then of this.#whenGone.splice(0)) then();
  }
}
