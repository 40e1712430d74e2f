import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Clock, Fact, Network, System, WritableFiles } from '../core/index.ts';
import { inNextTurn } from '../core/index.ts';

/** Why a file of state cannot be read: in words that end a log line. */
class StateUnreadable extends Error {}

const NAME = 'weir.state';
/** A newer form gets a higher number. A gateway that does not know it begins without it, and writes its own in its place. */
const FORM = 1;
/** No gateway writes a file as large as this. */
const MAX_BYTES = 512 * 1_024 * 1_024;
/** Facts between two turns of the event loop: less than a millisecond. */
const FACTS_A_TURN = 500;
const WRITE_BYTES = 65_536;

interface Header {
  readonly weir: 'state';
  readonly form: number;
  /** When it was written, by the wall clock: the facts lasted so much longer then. */
  readonly atEpochMs: number;
}

/**
 * What a gateway keeps over a restart: facts, in a file of JSON lines between a header and a checksum. It is written beside the old
 * one and takes its place at once, so a reader finds one of both, whole.
 */
export class StateFile {
  readonly path: string;
  readonly #files: WritableFiles;
  readonly #clock: Clock;

  constructor(folder: string, { files, clock }: { readonly files: WritableFiles; readonly clock: Clock }) {
    this.path = join(folder, NAME);
    this.#files = files;
    this.#clock = clock;
  }

  /** Returns the facts that still hold; none if there is no file. Throws `StateUnreadable`. */
  async read(): Promise<readonly Fact[]> {
    const text = await this.#readText();
    return text === null ? [] : factsIn(text, this.#clock.epochMs());
  }

  /** Writes the file anew. Gives way to the event loop on the way. Throws what the system says, such as ENOSPC; the old file stays. */
  async write(facts: Iterable<Fact>): Promise<void> {
    const next = `${this.path}.next`;
    const file = await this.#files.create(next);
    try {
      const header: Header = { weir: 'state', form: FORM, atEpochMs: this.#clock.epochMs() };
      const sum = createHash('sha256');
      let waiting = line(header);
      let count = 0;
      for (const { name, value, forMs } of facts) {
        waiting += line([name, value, forMs]);
        if (waiting.length >= WRITE_BYTES) {
          sum.update(waiting);
          await file.write(waiting);
          waiting = '';
        }
        if (++count % FACTS_A_TURN === 0) await new Promise<void>(resolve => inNextTurn(resolve));
      }
      sum.update(waiting);
      await file.write(waiting + line({ sha256: sum.digest('hex') }));
      await file.sync();
    } finally {
      await file.close();
    }
    await this.#files.rename(next, this.path);
  }

  async #readText(): Promise<string | null> {
    try {
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

async function readWhole(file: Awaited<ReturnType<WritableFiles['open']>>): Promise<string> {
  if (!(await file.stat()).isFile()) throw new StateUnreadable('it is not a file');
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (;;) {
    const piece = Buffer.allocUnsafe(WRITE_BYTES);
    const { bytesRead } = await file.read(piece, 0, piece.length, null);
    if (bytesRead === 0) return Buffer.concat(pieces).toString('utf8');
    bytes += bytesRead;
    if (bytes > MAX_BYTES) throw new StateUnreadable('it is too large to be ours');
    pieces.push(piece.subarray(0, bytesRead));
  }
}

function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

function factsIn(text: string, nowMs: number): readonly Fact[] {
  const end = text.lastIndexOf('\n', text.length - 2) + 1;
  const [first = '', ...rest] = text.slice(0, end).split('\n');
  const header = parsed(first);
  if (!isHeader(header)) throw new StateUnreadable('it was not written by a gateway');
  if (header.form !== FORM)
    throw new StateUnreadable(`its form is ${header.form}, and this version knows ${FORM}`);
  const last = parsed(text.slice(end));
  const sum = createHash('sha256').update(text.slice(0, end)).digest('hex');
  if (!isMap(last) || last['sha256'] !== sum)
    throw new StateUnreadable('its checksum is wrong: it is torn or was changed');
  // A clock that was set back makes them last longer, never shorter.
  const agedMs = Math.max(0, nowMs - header.atEpochMs);
  return rest.flatMap(each => factIn(parsed(each), agedMs) ?? []);
}

function factIn(value: unknown, agedMs: number): Fact | null {
  if (!Array.isArray(value)) return null;
  const [name, number, forMs] = value;
  if (typeof name !== 'string' || !Number.isSafeInteger(number) || typeof forMs !== 'number') return null;
  return forMs > agedMs ? { name, value: number, forMs: forMs - agedMs } : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isHeader(value: unknown): value is Header {
  return (
    isMap(value) &&
    value['weir'] === 'state' &&
    typeof value['form'] === 'number' &&
    typeof value['atEpochMs'] === 'number'
  );
}

const LOCK_NAME = 'weir.lock';

/** How long after taking the lock it is clear that nobody has taken it at the same moment. */
const RACE_MS = 100;

/**
 * Takes a folder for this gateway alone; `null` if a living gateway on this machine has it. The lock is a socket in the folder: it
 * lives no longer than its process, whatever ended that, and is seen from other containers too. Two machines that share a folder
 * do not see each other. Throws what the system says, such as EACCES.
 */
export async function lockFolder(
  folder: string,
  { network, files, clock, randomBytes }: Pick<System, 'network' | 'files' | 'clock' | 'randomBytes'>,
): Promise<{ release(): Promise<void> } | null> {
  const path = join(folder, LOCK_NAME);
  if (await isAnswered(path, network)) return null;
  const own = `${path}.${randomBytes(4).toString('hex')}`;
  const server = network.createServer({}, socket => socket.destroy());
  server.listen(own);
  await once(server, 'listening');
  const { ino } = await files.stat(own);
  const isHeld = async () => (await files.stat(path).catch(() => null))?.ino === ino;
  // Where two find the lock free at the same moment, the later one takes it from the other.
  await files.rename(own, path);
  await new Promise<void>(resolve => clock.after(RACE_MS, resolve));
  // Until here it keeps the process running, which has nothing else to do while it starts.
  server.unref();
  const lock = {
    async release() {
      if (await isHeld()) await files.remove(path);
      server.close();
    },
  };
  if (await isHeld()) return lock;
  await lock.release();
  return null;
}

async function isAnswered(path: string, network: Network): Promise<boolean> {
  const socket = network.connect({ path });
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return false;
    throw error;
  } finally {
    socket.destroy();
  }
}
