import { readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { ReplayError } from '../replay-error.ts';
import { LineReader } from './line-reader.ts';
import type { LoggedRequest } from './logged-request.ts';
import type { ReadCounts } from './read-counts.ts';

const CHUNK = 262_144;

/** Reads the requests of a log, compressed by gzip or not, in pieces. Memory does not depend on its size. */
export async function* readLogFile(path: string, counts: ReadCounts): AsyncGenerator<LoggedRequest[]> {
  const reader = new LineReader(counts);
  try {
    for await (const chunk of chunksOf(path, counts)) yield reader.take(chunk);
    yield reader.finish();
  } catch (error) {
    if (error instanceof ReplayError || (error as NodeJS.ErrnoException).syscall === 'open') throw error;
    // What came before the tear counts.
    counts.torn.push(`${path}: ${error instanceof Error ? error.message : String(error)}`);
    yield reader.finish();
  }
}

/** Its bytes in pieces, each valid until the next one is asked for. */
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
    yield* isGzip(first.value) ? unzipped(whole) : whole;
  } finally {
    await file.close();
  }
}

function isGzip(start: Buffer): boolean {
  return start[0] === 0x1f && start[1] === 0x8b;
}

/** Reads into the same memory again and again. Synchronously: there is nothing else to do meanwhile, and a promise costs more. */
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
  // The decompressor may still hold a piece when it asks for the next one.
  const copies = Readable.from(copiesOf(compressed));
  const plain = createGunzip({ chunkSize: CHUNK });
  copies.on('error', error => plain.destroy(error));
  yield* copies.pipe(plain);
}

async function* copiesOf(pieces: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield Buffer.from(piece);
}
