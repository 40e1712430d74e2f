import { write, writeSync } from 'node:fs';
import { type DestinationStream, type Level, type Logger as PinoLogger, pino, stdTimeFunctions } from 'pino';
import { type Clock, type ExchangeListener, type ExchangeRecord, escapeInvisible } from '../../core/index.ts';
import { AccessLine, type PathNaming, Pseudonyms } from './access-log.ts';

interface LogDestination extends DestinationStream {
  /** Takes lines of the log, usually one at a time. */
  write(lines: string, count?: number): void;
  /** Called if lines were dropped before they reached this destination. Absent if they are not counted. */
  missed?(count: number): void;
  /** Lines that were lost. Absent if the destination never loses any. */
  readonly losses?: LogLosses;
}

export interface LogLosses {
  readonly linesDropped: number;
  /** Why lines cannot be written at the moment; `null` if they can. */
  readonly trouble: LogTrouble | null;
}

/** A state in which no log lines are written. */
interface LogTrouble {
  readonly cause: string;
  readonly sinceMs: number;
}

export const NO_LOSSES: LogLosses = { linesDropped: 0, trouble: null };

/** What is logged, and how callers are named in the log. */
export interface LoggingOptions {
  readonly level: Logger['level'];
  /** One line per request. */
  readonly access: boolean;
  /** The key of the pseudonyms; `null` for a random key of this process. */
  readonly pseudonymKey: Buffer | null;
  readonly paths: PathNaming;
  /** Maximum paths, and maximum callers' names, remembered. Default 20,000. A reload does not change it. */
  readonly remembered?: number;
}

/** The parts of logging that depend on the configuration. Writes the access log. */
export class Logging implements Partial<ExchangeListener> {
  readonly pseudonyms: Pseudonyms;
  readonly #log: Logger;
  readonly #line: AccessLine;
  readonly #output: DestinationStream;
  #access: boolean;
  /** The key for callers' names while the configuration has none. */
  readonly #ownKey: Buffer;

  /** Does not change the level of `log`. `instance`: a random name of this process. */
  constructor(
    log: Logger,
    { access, pseudonymKey, paths, remembered }: LoggingOptions,
    clock: Clock,
    instance: string,
    ownKey: Buffer,
  ) {
    this.#log = log;
    this.#output = log.destination;
    this.#ownKey = ownKey;
    this.pseudonyms = new Pseudonyms(pseudonymKey ?? ownKey, remembered);
    this.#line = new AccessLine(clock, this.pseudonyms, paths, instance, remembered);
    this.#access = this.#writes(access);
  }

  use({ level, access, pseudonymKey, paths }: LoggingOptions): void {
    this.#log.level = level;
    this.#access = this.#writes(access);
    this.pseudonyms.use(pseudonymKey ?? this.#ownKey);
    this.#line.use(paths);
  }

  lasting(record: ExchangeRecord): void {
    if (this.#access) this.#output.write(this.#line.ofAdmission(record));
  }

  finished(record: ExchangeRecord): void {
    if (this.#access) this.#output.write(this.#line.of(record));
  }

  /** Access lines have level info. */
  #writes(access: boolean): boolean {
    return access && this.#log.isLevelEnabled('info');
  }
}

/** Writes log lines. Code that renders its own lines writes them to `destination`, in order with the others. */
export type Logger = PinoLogger & { readonly destination: LogDestination };

/** Makes a logger that writes JSON lines to `destination`; `silent` writes none. */
export function makeLogger(level: Level | 'silent', destination: LogDestination): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const lines = { write: (line: string) => destination.write(escapeInvisible(line)) };
  return Object.assign(pino(options, lines), { destination });
}

/** Characters written together: with the last line, about the 16 KiB that container engines read at once. */
const CHUNK = 15_000;
/** How long a line waits to be written with others, milliseconds. */
const GATHER_MS = 200;
/**
 * Maximum bytes waiting for a slow reader or a full disk. Further lines are dropped: requests must not wait, and memory is
 * limited.
 */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/**
 * After lines were dropped, further ones are dropped until at most this many bytes are waiting: one gap in the log, with one line
 * about it.
 */
const ROOM_BYTES = MAX_WAITING_BYTES / 2;
/** Waits before the next attempt after a failed one, milliseconds: short for a reader that is a little slow, longer for a full disk. */
const FIRST_RETRY_MS = 4;
const MAX_RETRY_MS = 256;
/** How long nothing can be written before the log counts as in trouble, milliseconds. */
const TROUBLE_MS = 1_000;
/**
 * How many checks in a row, one every `GATHER_MS`, may find that nothing was written. One is not enough: after the event loop was
 * blocked, the first check runs before the callbacks of completed writes.
 */
const TROUBLE_LOOKS = 2;
/** How long a clean exit waits for lines to be written, milliseconds. */
const FLUSH_MS = 1_500;
/** How long an immediate exit waits for them, milliseconds. */
const LAST_WRITE_MS = 500;
/** How long an immediate exit waits for a write that has begun, milliseconds. */
const LAST_MOMENT_MS = 50;

/**
 * Writes log lines to an open file in the background, and never blocks the code that logs: whatever the file or its reader does,
 * lines wait, up to a bound, and are dropped and counted beyond it. A failed write is retried, whatever the reason.
 */
export class LogOutput implements LogDestination {
  readonly #file: number;
  readonly #clock: Clock;
  readonly #log;
  /** The last lines, not yet in `#chunks`. */
  #gathered = '';
  #gatheredLines = 0;
  /** Bytes to be written, in order. The first chunk may be partly written. */
  readonly #chunks: Buffer[] = [];
  #waitingBytes = 0;
  #isWriting = false;
  #retry: NodeJS.Timeout | null = null;
  #retryMs = FIRST_RETRY_MS;
  /** When bytes were last written, or began to wait, on the monotonic clock. */
  #movedAtMs = 0;
  #looksSinceMoved = 0;
  #lastError: string | null = null;
  #linesDropped = 0;
  /** The time and the count at which lines began to be dropped; null if none are being dropped. */
  #droppingSince: { readonly atMs: number; readonly linesDropped: number } | null = null;
  #whenWritten: (() => void)[] = [];

  /** @param file the descriptor. Writing must not block: the process could not end during a write. */
  constructor(file: number, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
    this.#log = makeLogger('warn', this);
    setInterval(() => {
      this.#looksSinceMoved++;
      this.#handOn();
    }, GATHER_MS).unref();
    process.on('exit', () => this.#writeLast());
  }

  get losses(): LogLosses {
    return { linesDropped: this.#linesDropped, trouble: this.#trouble };
  }

  /** Takes lines with their line feeds. On every request's path: the rest is done once per chunk. */
  write(lines: string, count = 1): void {
    this.#gathered += lines;
    this.#gatheredLines += count;
    if (this.#gathered.length >= CHUNK) this.#handOn();
  }

  missed(count: number): void {
    this.#droppingSince ??= { atMs: this.#clock.epochMs(), linesDropped: this.#linesDropped };
    this.#linesDropped += count;
    if (this.#waitingBytes <= ROOM_BYTES) this.#takeAgain(this.#droppingSince);
  }

  /** Writes what is waiting; gives up after a second and a half. Resolves to whether everything is written. */
  flush(): Promise<boolean> {
    this.#handOn();
    if (this.#waitingBytes === 0) return Promise.resolve(true);
    return new Promise(resolve => {
      const timer = setTimeout(resolve, FLUSH_MS, false);
      this.#whenWritten.push(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }

  get #trouble(): LogTrouble | null {
    const forMs = this.#clock.monotonicMs() - this.#movedAtMs;
    if (this.#waitingBytes === 0 || forMs < TROUBLE_MS || this.#looksSinceMoved < TROUBLE_LOOKS) return null;
    return { cause: this.#lastError ?? 'a write does not end', sinceMs: this.#clock.epochMs() - forMs };
  }

  #handOn(): void {
    if (this.#gatheredLines === 0) return;
    const chunk = Buffer.from(this.#gathered);
    const lines = this.#gatheredLines;
    this.#gathered = '';
    this.#gatheredLines = 0;
    if (this.#waitingBytes + chunk.length > MAX_WAITING_BYTES)
      this.#droppingSince ??= { atMs: this.#clock.epochMs(), linesDropped: this.#linesDropped };
    if (this.#droppingSince !== null) {
      this.#linesDropped += lines;
      return;
    }
    if (this.#waitingBytes === 0) this.#moved();
    this.#chunks.push(chunk);
    this.#waitingBytes += chunk.length;
    this.#advance();
  }

  #advance(): void {
    const [chunk] = this.#chunks;
    if (chunk === undefined || this.#isWriting || this.#retry !== null) return;
    this.#isWriting = true;
    write(this.#file, chunk, (error, bytes) => {
      this.#isWriting = false;
      if (error === null && bytes > 0) this.#wrote(chunk, bytes);
      else this.#failed(error);
    });
  }

  #wrote(chunk: Buffer, bytes: number): void {
    this.#moved();
    this.#retryMs = FIRST_RETRY_MS;
    this.#lastError = null;
    this.#remove(chunk, bytes);
    if (this.#droppingSince !== null && this.#waitingBytes <= ROOM_BYTES)
      this.#takeAgain(this.#droppingSince);
    this.#advance();
    if (this.#waitingBytes > 0) return;
    for (const done of this.#whenWritten) done();
    this.#whenWritten = [];
  }

  #moved(): void {
    this.#movedAtMs = this.#clock.monotonicMs();
    this.#looksSinceMoved = 0;
  }

  #remove(chunk: Buffer, bytes: number): void {
    this.#waitingBytes -= bytes;
    if (bytes === chunk.length) this.#chunks.shift();
    else this.#chunks[0] = chunk.subarray(bytes);
  }

  /** Accepts lines again, and writes a line in place of the missing ones that says so. */
  #takeAgain({ atMs, linesDropped }: { readonly atMs: number; readonly linesDropped: number }): void {
    this.#droppingSince = null;
    const line = {
      type: 'log',
      linesDropped: this.#linesDropped - linesDropped,
      since: new Date(atMs).toISOString(),
    };
    this.#log.warn(line, 'log lines were dropped here: they could not be written fast enough, or not at all');
  }

  /** Handles ENOSPC, EPIPE, EAGAIN, EIO and all others alike: each may be temporary, and the waiting bytes are bounded. */
  #failed(error: NodeJS.ErrnoException | null): void {
    this.#lastError = error === null ? 'nothing was written' : describe(error);
    const wait = () => {
      this.#retry = null;
      this.#advance();
    };
    this.#retry = setTimeout(wait, this.#retryMs).unref();
    this.#retryMs = Math.min(2 * this.#retryMs, MAX_RETRY_MS);
  }

  /** Writes what is waiting when the process exits, when background work is no longer possible. */
  #writeLast(): void {
    this.#handOn();
    const isInTrouble = this.#trouble !== null;
    if (this.#isWriting) this.#endWrite(isInTrouble);
    const deadlineMs = this.#clock.monotonicMs() + (isInTrouble ? 0 : LAST_WRITE_MS);
    for (;;) {
      const [chunk] = this.#chunks;
      if (chunk === undefined) return;
      try {
        this.#remove(chunk, writeSync(this.#file, chunk));
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code !== 'EAGAIN' || this.#clock.monotonicMs() >= deadlineMs) return;
        pause(FIRST_RETRY_MS);
      }
    }
  }

  /**
   * Waits for a write in progress, which usually takes a moment. Node waits for one that never ends, so then only a signal ends
   * the process.
   */
  #endWrite(isInTrouble: boolean): void {
    if (isInTrouble) process.kill(process.pid, 'SIGKILL');
    pause(LAST_MOMENT_MS);
    const [chunk] = this.#chunks;
    if (chunk !== undefined) this.#remove(chunk, chunk.length);
  }
}

function describe({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOSPC') return 'ENOSPC: the disk is full';
  if (code === 'EPIPE') return 'EPIPE: nobody reads standard output';
  return code === 'EAGAIN' ? 'EAGAIN: the reader of standard output does not read' : (code ?? message);
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
