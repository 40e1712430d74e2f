import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { type LoggedRequest, readLogLine } from './logged-request.ts';
import { ReplayError } from './replay-error.ts';

/** Longer lines are broken: no line of a gateway comes near. */
const MAX_LINE = 1_048_576;
const CHUNK = 262_144;
/** A line this much later than the one before, or the first one, has to be confirmed by the next. */
const JUMP_MS = 3_600_000;

/** What was read so far. */
export interface ReadCounts {
  lines: number;
  /** About something else than a decision. */
  other: number;
  broken: number;
  /** Of the files as they lie on disk. */
  bytes: number;
  /** Files that could not be read to their end, and why. */
  readonly torn: string[];
}

export function newReadCounts(): ReadCounts {
  return { lines: 0, other: 0, broken: 0, bytes: 0, torn: [] };
}

/** Reads the requests of a log, compressed by gzip or not, in pieces. Memory does not depend on its size. */
export async function* readLogFile(path: string, counts: ReadCounts): AsyncGenerator<LoggedRequest[]> {
  const reader = new LineReader(counts);
  try {
    for await (const chunk of await streamOf(path, counts)) yield reader.take(chunk);
    yield reader.finish();
  } catch (error) {
    if (error instanceof ReplayError || (error as NodeJS.ErrnoException).syscall === 'open') throw error;
    // What came before the tear counts.
    counts.torn.push(`${path}: ${error instanceof Error ? error.message : String(error)}`);
    yield reader.finish();
  }
}

async function streamOf(path: string, counts: ReadCounts): Promise<Readable> {
  const file = await open(path);
  // A folder can be opened, but not read.
  const isFolder = (await file.stat()).isDirectory();
  if (isFolder) await file.close();
  if (isFolder)
    throw new ReplayError(`${path} is a folder: name the logs in it, such as ${join(path, '*.log')}`);
  const { bytesRead, buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
  await file.close();
  const raw = createReadStream(path, { highWaterMark: CHUNK });
  raw.on('data', chunk => {
    counts.bytes += chunk.length;
  });
  raw.pause();
  const isGzip = bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  if (!isGzip) return raw;
  const plain = createGunzip({ chunkSize: CHUNK });
  raw.on('error', error => plain.destroy(error));
  return raw.pipe(plain);
}

/** Cuts chunks into lines and reads them. */
class LineReader {
  readonly #counts: ReadCounts;
  #rest = '';
  #skipping = false;
  #latestMs = 0;
  /** It jumped ahead, and the next line has to say the same. */
  #doubted: LoggedRequest | null = null;

  constructor(counts: ReadCounts) {
    this.#counts = counts;
  }

  take(chunk: Buffer): LoggedRequest[] {
    // Whatever a replay reads is ASCII, which latin1 decodes fastest.
    const text = this.#rest + chunk.toString('latin1');
    const requests: LoggedRequest[] = [];
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      if (this.#skipping) this.#skipping = false;
      else this.#read(text.slice(start, end), requests);
      start = end + 1;
    }
    this.#rest = this.#skipping ? '' : text.slice(start);
    if (this.#rest.length > MAX_LINE) {
      this.#counts.lines++;
      this.#counts.broken++;
      this.#rest = '';
      this.#skipping = true;
    }
    return requests;
  }

  finish(): LoggedRequest[] {
    const requests: LoggedRequest[] = [];
    if (this.#rest !== '') this.#read(this.#rest, requests);
    // Nothing comes after it that it could mislead.
    if (this.#doubted !== null) this.#accept(this.#doubted, requests);
    this.#doubted = null;
    return requests;
  }

  #read(line: string, requests: LoggedRequest[]): void {
    this.#counts.lines++;
    const request = readLogLine(line.endsWith('\r') ? line.slice(0, -1) : line);
    if (request === 'other') this.#counts.other++;
    else if (request === 'broken') this.#counts.broken++;
    else this.#judge(request, requests);
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
