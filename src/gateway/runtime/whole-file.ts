import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { type Clock, jsonIn, type WritableFiles } from '../../core/index.ts';

/** Thrown if a state file cannot be read: the message ends a log line. */
class StateUnreadable extends Error {}

/** Increase it when the format changes. A gateway that finds an unknown format starts without the file, and replaces it. */
const FORM = 1;
/** Larger than any file that a gateway writes. */
const MAX_BYTES = 512 * 1_024 * 1_024;
const READ_BYTES = 65_536;
const SUM_BYTES = checksumLine(createHash('sha256')).length;

interface Content {
  /** Age of the file by the wall clock; 0 if that was set back. */
  readonly agedMs: number;
  readonly header: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/**
 * A file that is read and written as a whole: a header line, a body, a checksum line. It is written next to the old one and then
 * replaces it atomically, so a reader finds one of the two.
 */
export class WholeFile {
  readonly path: string;
  readonly #kind: string;
  readonly #files: WritableFiles;
  readonly #clock: Clock;

  /** `kind`: its purpose, so that no other file is mistaken for it. */
  constructor(
    path: string,
    kind: string,
    { files, clock }: { readonly files: WritableFiles; readonly clock: Clock },
  ) {
    this.path = path;
    this.#kind = kind;
    this.#files = files;
    this.#clock = clock;
  }

  /** Returns `null` if there is none. Throws `StateUnreadable`. */
  async read(): Promise<Content | null> {
    const bytes = await this.#readBytes();
    if (bytes === null) return null;
    const end = Math.max(0, bytes.length - SUM_BYTES);
    const bodyAt = bytes.indexOf('\n') + 1;
    const header = parsedMap(bytes.subarray(0, bodyAt));
    if (header === null || header['weir'] !== this.#kind || typeof header['atEpochMs'] !== 'number')
      throw new StateUnreadable('it was not written by a gateway');
    if (header['form'] !== FORM)
      throw new StateUnreadable(`its format is ${header['form']}, and this version knows ${FORM}`);
    const content = bytes.subarray(0, end);
    const sum = checksumLine(createHash('sha256').update(content));
    if (end < bodyAt || bytes.toString('latin1', end) !== sum)
      throw new StateUnreadable('its checksum is wrong: it is torn or was changed');
    const agedMs = Math.max(0, this.#clock.epochMs() - header['atEpochMs']);
    return { agedMs, header, body: content.subarray(bodyAt) };
  }

  /**
   * Returns the length of the body: bytes, and characters of text. Throws the system's error, such as ENOSPC; the old file stays.
   */
  async write(
    header: Readonly<Record<string, unknown>>,
    body: Iterable<string> | AsyncIterable<string | Buffer>,
  ): Promise<number> {
    let bytes = 0;
    const next = `${this.path}.next`;
    try {
      const file = await this.#files.create(next);
      try {
        const sum = createHash('sha256');
        const write = async (piece: string | Buffer) => {
          sum.update(piece);
          await file.write(piece);
        };
        const first = { weir: this.#kind, form: FORM, atEpochMs: this.#clock.epochMs(), ...header };
        await write(`${JSON.stringify(first)}\n`);
        for await (const piece of body) {
          if (piece.length > 0) await write(piece);
          bytes += piece.length;
        }
        await file.write(checksumLine(sum));
        await file.sync();
      } finally {
        await file.close();
      }
      await this.#files.rename(next, this.path);
    } catch (error) {
      // A partial file would take room on a full disk.
      await this.#files.remove(next).catch(() => {});
      throw error;
    }
    // After a crash, a machine may have forgotten a rename that was not synced, and have the old file again: restrictions and
    // revocations made since then would be lost. If the file system cannot sync a folder, keep the file nonetheless.
    await this.#files.syncFolder(dirname(this.path)).catch(() => {});
    return bytes;
  }

  async #readBytes(): Promise<Buffer | null> {
    try {
      // Opening a pipe would wait for a writer.
      if (!(await this.#files.stat(this.path)).isFile()) throw new StateUnreadable('it is not a file');
      const file = await this.#files.open(this.path);
      try {
        return await readWhole(file);
      } finally {
        await file.close();
      }
    } catch (error) {
      if (error instanceof StateUnreadable) throw error;
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return null;
      throw new StateUnreadable(code ?? message);
    }
  }
}

async function readWhole(file: Awaited<ReturnType<WritableFiles['open']>>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (;;) {
    const piece = Buffer.allocUnsafe(READ_BYTES);
    const { bytesRead } = await file.read(piece, 0, piece.length, null);
    if (bytesRead === 0) return Buffer.concat(pieces);
    bytes += bytesRead;
    if (bytes > MAX_BYTES) throw new StateUnreadable('it is too large: no gateway writes such a file');
    pieces.push(piece.subarray(0, bytesRead));
  }
}

function checksumLine(sum: ReturnType<typeof createHash>): string {
  return `${JSON.stringify({ sha256: sum.digest('hex') })}\n`;
}

function parsedMap(line: Buffer): Readonly<Record<string, unknown>> | null {
  const value = jsonIn(line.toString('utf8'));
  return typeof value === 'object' && value !== null ? { ...value } : null;
}
