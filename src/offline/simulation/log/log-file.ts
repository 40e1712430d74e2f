import { readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { errorText, NO_BYTES } from '../../../core/index.ts';
import { type LoggedRequest, readLogLine } from './logged-request.ts';

const CHUNK = 262_144;

/** Reads the requests of a log in pieces, also if compressed by gzip. Memory use does not depend on the size of the log. */
export async function* readLogFile(path: string, counts: ReadCounts): AsyncGenerator<LoggedRequest[]> {
  const reader = new LineReader(counts);
  try {
    for await (const chunk of chunksOf(path, counts)) yield reader.take(chunk);
    yield reader.finish();
  } catch (error) {
    if (error instanceof ReplayError || (error as NodeJS.ErrnoException).syscall === 'open') throw error;
    // Keep what was read before the damage.
    counts.torn.push(`${path}: ${errorText(error)}`);
    yield reader.finish();
  }
}

/** The bytes of a file in pieces. Each piece is valid until the next one is requested. */
async function* chunksOf(path: string, counts: ReadCounts): AsyncGenerator<Buffer> {
  const file = await open(path);
  try {
    // A folder can be opened, but not read.
    if ((await file.stat()).isDirectory())
      throw new ReplayError(`${path} is a folder: name the logs in it, such as ${join(path, '*.log')}`);
    const plain = piecesOf(file, counts);
    const first = await plain.next();
    if (first.done === true) return;
    const whole = joined(first.value, plain);
    yield* first.value[0] === 0x1f && first.value[1] === 0x8b ? unzipped(whole) : whole;
  } finally {
    await file.close();
  }
}

/** Reuses one buffer. Reads synchronously, because nothing else runs meanwhile and a promise costs more. */
async function* piecesOf(file: FileHandle, counts: ReadCounts): AsyncGenerator<Buffer> {
  const memory = Buffer.allocUnsafeSlow(CHUNK);
  while (true) {
    const bytesRead = readSync(file.fd, memory, 0, CHUNK, null);
    if (bytesRead === 0) return;
    counts.bytes += bytesRead;
    yield memory.subarray(0, bytesRead);
  }
}

async function* joined(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

async function* unzipped(compressed: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  // Copy each piece: the decompressor may still use it when it requests the next one.
  const copies = Readable.from(copiesOf(compressed));
  const plain = createGunzip({ chunkSize: CHUNK });
  copies.on('error', error => plain.destroy(error));
  yield* copies.pipe(plain);
}

async function* copiesOf(pieces: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield Buffer.from(piece);
}

/** Maximum length of a line, in characters. Gateways write far shorter ones, so a longer line is broken. */
const MAX_LINE = 1_048_576;
/** A line this much later than the latest one waits until the next line confirms its time, as does the first line. */
const JUMP_MS = 3_600_000;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** Cuts chunks into lines and reads them. */
class LineReader {
  readonly #counts: ReadCounts;
  /** The beginning of a line that continues in the next chunk. */
  #lineStart: Buffer = NO_BYTES;
  #skipping = false;
  #latestMs = 0;
  /** A request far later than those before it, until the next line confirms its time. */
  #doubted: LoggedRequest | null = null;

  constructor(counts: ReadCounts) {
    this.#counts = counts;
  }

  /** Reads the lines of a chunk, without keeping a reference to it. */
  take(chunk: Buffer): LoggedRequest[] {
    const requests: LoggedRequest[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      if (this.#skipping) this.#skipping = false;
      else if (this.#lineStart.length === 0) this.#read(chunk, start, end, requests);
      else this.#readJoined(chunk.subarray(start, end), requests);
      start = end + 1;
    }
    if (!this.#skipping) this.#keep(chunk.subarray(start));
    return requests;
  }

  finish(): LoggedRequest[] {
    const requests: LoggedRequest[] = [];
    if (this.#lineStart.length > 0) this.#readJoined(NO_BYTES, requests);
    // Accept it: no later line depends on its time.
    if (this.#doubted !== null) this.#accept(this.#doubted, requests);
    this.#doubted = null;
    return requests;
  }

  #keep(start: Buffer): void {
    this.#lineStart = Buffer.concat([this.#lineStart, start]);
    if (this.#lineStart.length <= MAX_LINE) return;
    this.#counts.lines++;
    this.#counts.broken++;
    this.#lineStart = NO_BYTES;
    this.#skipping = true;
  }

  #readJoined(end: Buffer, requests: LoggedRequest[]): void {
    const line = Buffer.concat([this.#lineStart, end]);
    this.#lineStart = NO_BYTES;
    this.#read(line, 0, line.length, requests);
  }

  #read(bytes: Buffer, start: number, stop: number, requests: LoggedRequest[]): void {
    this.#counts.lines++;
    const end = bytes[stop - 1] === CARRIAGE_RETURN && stop > start ? stop - 1 : stop;
    // A replay only reads ASCII, which latin1 decodes fastest.
    const line = readLogLine(bytes.toString('latin1', start, end));
    if (line === 'other') this.#counts.other++;
    else if (line === 'early') this.#counts.early++;
    else if (line === 'broken') this.#counts.broken++;
    else this.#judge(line, requests);
  }

  /** Holds back a request whose time is far ahead, so that one wrong time does not advance the clock. */
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

export interface ReadCounts {
  lines: number;
  /** Lines without a decision. */
  other: number;
  broken: number;
  /** Requests refused with 429 before the limits were checked: by a restriction, or as blocked. */
  early: number;
  /** Bytes read from disk, before decompression. */
  bytes: number;
  /** Files that could not be read to the end, each with the reason. */
  readonly torn: string[];
}

export function newReadCounts(): ReadCounts {
  return { lines: 0, other: 0, broken: 0, early: 0, bytes: 0, torn: [] };
}

export class ReplayError extends Error {
  override readonly name = 'ReplayError';
}
