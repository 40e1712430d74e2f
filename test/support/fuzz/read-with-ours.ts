import type { Release } from '../../../src/core/index.ts';
import { SlabStore } from '../../../src/upstream/pool.ts';
import type { CallSink } from '../../../src/upstream/transport.ts';
import { MalformedMessage } from '../../../src/wire/http1/message.ts';
import { ResponseReader } from '../../../src/wire/http1/response-reader.ts';
import { emptyReading, type Reading } from './reading.ts';

const MAX_HEAD_BYTES = 32_768;

/** One for all, so that a slab that is given back too early is filled by the next reading. */
const slabs = new SlabStore();
/** Views of the reading before, which are given back only now. */
let lent: Release[] = [];

/**
 * What the gateway's reader makes of a connection that brings these pieces, each in one read, and ends. What it lends is
 * looked at when everything has been read, and given back when the next reading has begun.
 */
export function readWithOurs(pieces: readonly Buffer[], method: string): Reading {
  const late = lent;
  lent = [];
  const collector = new Collector();
  const reader = new ResponseReader(MAX_HEAD_BYTES);
  reader.begin(method, collector);
  let slab = slabs.take();
  try {
    for (const piece of pieces) {
      if (reader.over) break;
      slab.bytes.set(piece);
      reader.read(slab, piece.length);
      if (!slab.lent) continue;
      slab.detach();
      slab = slabs.take();
      for (const taken of late.splice(0)) taken();
    }
    if (!reader.over) reader.ended();
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error;
    collector.reading.outcome = 'refused';
  }
  slab.detach();
  for (const taken of late) taken();
  return collector.finished();
}

/** A response sink that keeps everything, and holds the reader to the order of its calls. */
class Collector implements CallSink {
  readonly reading = emptyReading();
  readonly #pieces: Buffer[] = [];
  #bodyLength: number | null = null;
  #streaming = false;
  #over = false;

  neverIndex(): void {}

  info(status: number, fields: readonly string[]): void {
    this.#expect(!this.#streaming && !this.#over, 'info behind the head');
    this.reading.interim.push([status, fields]);
  }

  whole(status: number, reason: string, fields: readonly string[], body: string): void {
    this.#expect(!this.#streaming && !this.#over, 'two responses');
    this.#over = true;
    Object.assign(this.reading, { outcome: 'whole', status, reason, fields, body });
  }

  head(status: number, reason: string, fields: readonly string[], bodyLength: number | null): void {
    this.#expect(!this.#streaming && !this.#over, 'two responses');
    this.#streaming = true;
    this.#bodyLength = bodyLength;
    Object.assign(this.reading, { status, reason, fields });
  }

  data(chunk: Buffer, taken: Release | null): boolean {
    this.#expect(this.#streaming && !this.#over && chunk.length > 0, 'data out of its place');
    this.#pieces.push(chunk);
    if (taken !== null) lent.push(taken);
    return true;
  }

  end(trailers: readonly string[]): void {
    this.#expect(this.#streaming && !this.#over, 'end out of its place');
    this.#over = true;
    Object.assign(this.reading, { outcome: 'whole', trailers });
  }

  switched(): void {
    throw new Error('nobody asked for another protocol');
  }

  fail(): void {
    throw new Error('a reader tells of failures by throwing');
  }

  finished(): Reading {
    if (this.#streaming) this.reading.body = Buffer.concat(this.#pieces).toString('latin1');
    const whole = this.reading.outcome === 'whole';
    const announced =
      !this.#streaming || this.#bodyLength === null || this.#bodyLength === this.reading.body.length;
    this.#expect(!whole || announced, 'a body of another length than the head said');
    return this.reading;
  }

  #expect(holds: boolean, what: string): void {
    if (!holds) throw new Error(what);
  }
}
