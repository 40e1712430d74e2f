import { type LoggedRequest, readLogLine } from './logged-request.ts';
import type { ReadCounts } from './read-counts.ts';

/** Longer lines are broken: no line of a gateway comes near. */
const MAX_LINE = 1_048_576;
/** A line this much later than the one before, or the first one, has to be confirmed by the next. */
const JUMP_MS = 3_600_000;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const NOTHING = Buffer.alloc(0);

/** Cuts chunks into lines and reads them. */
export class LineReader {
  readonly #counts: ReadCounts;
  /** The beginning of a line whose end has not come. */
  #rest: Buffer = NOTHING;
  #skipping = false;
  #latestMs = 0;
  /** A request that jumped ahead in time: the next line has to confirm it. */
  #doubted: LoggedRequest | null = null;

  constructor(counts: ReadCounts) {
    this.#counts = counts;
  }

  /** Keeps nothing of the chunk. */
  take(chunk: Buffer): LoggedRequest[] {
    const requests: LoggedRequest[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      if (this.#skipping) this.#skipping = false;
      else if (this.#rest.length === 0) this.#read(chunk, start, end, requests);
      else this.#readJoined(chunk.subarray(start, end), requests);
      start = end + 1;
    }
    if (!this.#skipping) this.#keep(chunk.subarray(start));
    return requests;
  }

  finish(): LoggedRequest[] {
    const requests: LoggedRequest[] = [];
    if (this.#rest.length > 0) this.#readJoined(NOTHING, requests);
    // Nothing comes after it that it could mislead.
    if (this.#doubted !== null) this.#accept(this.#doubted, requests);
    this.#doubted = null;
    return requests;
  }

  #keep(start: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, start]);
    if (this.#rest.length <= MAX_LINE) return;
    this.#counts.lines++;
    this.#counts.broken++;
    this.#rest = NOTHING;
    this.#skipping = true;
  }

  #readJoined(end: Buffer, requests: LoggedRequest[]): void {
    const line = Buffer.concat([this.#rest, end]);
    this.#rest = NOTHING;
    this.#read(line, 0, line.length, requests);
  }

  #read(bytes: Buffer, start: number, stop: number, requests: LoggedRequest[]): void {
    this.#counts.lines++;
    const end = bytes[stop - 1] === CARRIAGE_RETURN && stop > start ? stop - 1 : stop;
    // A replay reads ASCII alone, which latin1 decodes fastest.
    const line = readLogLine(bytes.toString('latin1', start, end));
    if (line === 'other') this.#counts.other++;
    else if (line === 'early') this.#counts.early++;
    else if (line === 'broken') this.#counts.broken++;
    else this.#judge(line, requests);
  }

  /** One line with a wrong time must not carry the clock away with it. */
  #judge(request: LoggedRequest, requests: LoggedRequest[]): void {
    const doubted = this.#doubted;
    this.#doubted = null;
    if (doubted !== null) {
      if (request.writtenAtMs >= doubted.writtenAtMs - JUMP_MS) this.#accept(doubted, requests);
      else this.#counts.broken++;
    }
    if (request.writtenAtMs > this.#latestMs + JUMP_MS) this.#doubted = request;
    else this.#accept(request, requests);
  }

  #accept(request: LoggedRequest, requests: LoggedRequest[]): void {
    this.#latestMs = Math.max(this.#latestMs, request.writtenAtMs);
    requests.push(request);
  }
}
