import { randomBytes } from 'node:crypto';
import { lookup, promises } from 'node:dns';
import { type FSWatcher, readlinkSync, type Stats, watch } from 'node:fs';
import { lstat, open, readdir, readlink, rename, rm, stat } from 'node:fs/promises';
import type { Server as HttpServer, RequestListener } from 'node:http';
import type { LookupFunction, NetConnectOpts, Server, ServerOpts, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { constants, setPriority } from 'node:os';
import { performance } from 'node:perf_hooks';
import { type ConnectionOptions, connect as secureConnect, type TLSSocket } from 'node:tls';
import { nodeHttp } from './node-http.ts';

/** Returns a number from 0 up to but not including 1. Injected, so that tests can fix it; not for secrets. */
export type Random = () => number;

/** Returns this many unpredictable bytes. Injected, so that a simulated world can repeat them. */
export type RandomBytes = (count: number) => Buffer;

/** The bytes of a secret, and of a unique name. */
const KEY_BYTES = 32;

export function randomKey(randomBytes: RandomBytes): Buffer {
  return randomBytes(KEY_BYTES);
}

/** Makes a unique name of 43 letters, digits, `-` and `_`. */
export function randomName(randomBytes: RandomBytes): string {
  return randomBytes(KEY_BYTES).toString('base64url');
}

const POOL_BYTES = 8_192;

/** Makes a source of random bytes in hexadecimal, for ids. It fetches many bytes at a time. Not for secrets. */
export function hexSource(randomBytes: RandomBytes): (bytes: number) => string {
  let pool: Buffer = Buffer.alloc(0);
  let at = 0;
  return bytes => {
    if (at + bytes > pool.length) {
      pool = randomBytes(POOL_BYTES);
      at = 0;
    }
    at += bytes;
    return pool.toString('hex', at - bytes, at);
  };
}

/**
 * Makes a source of request ids, unique across processes by 60 random bits and within one by a counter. Not a secret: an id
 * identifies a request and proves nothing.
 */
export function requestIdSource(randomBytes: RandomBytes): () => string {
  const prefix = randomBytes(8).toString('base64url').replaceAll(/[-_]/g, '0').slice(0, 10);
  let count = 0;
  return () => `${prefix}-${(++count).toString(36)}`;
}

/** The source of time. All other files get a clock injected, so that tests can stop it. */
export interface Clock {
  /** Milliseconds since the Unix epoch, by the wall clock; may step. For people and clients. */
  epochMs(): number;
  /** Milliseconds since some fixed time; never goes back. For measuring durations. */
  monotonicMs(): number;
}

/** A timer that was set. Only meaningful to the clock that set it. */
export type Timer = object;

/** A clock with timers. They do not keep the process running: a gateway runs as long as it listens. */
export interface TimerClock extends Clock {
  /** Calls back once, after this many milliseconds. */
  after(ms: number, run: () => void): Timer;
  /** Calls back every this many milliseconds. */
  every(ms: number, run: () => void): Timer;
  /** Stops a timer of either kind. Does nothing if it has fired or there is none. */
  cancel(timer: Timer | null): void;
  /** Returns a signal that is aborted after this many milliseconds, with a `TimeoutError`. */
  signalAfter(ms: number): AbortSignal;
}

export const systemClock: TimerClock = {
  epochMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (ms, run) => setTimeout(run, ms).unref(),
  every: (ms, run) => setInterval(run, ms).unref(),
  // Node stops intervals with the same call.
  cancel: timer => clearTimeout((timer as NodeJS.Timeout | null) ?? undefined),
  signalAfter: ms => AbortSignal.timeout(ms),
};

/**
 * Lets other threads go first if they compete with this one for a processor. Only on Linux, and only if the system permits it; else
 * does nothing.
 */
export function giveWay(): void {
  try {
    // setpriority(2): on Linux, each thread has a priority of its own.
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The thread then competes like any other.
  }
}

/** The processor time that this thread has used so far, in milliseconds. */
export function threadProcessorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** How often two clocks are read to determine their difference. */
const READINGS = 8;

/** When `systemClock` of this thread began, in milliseconds of the machine's own clock: it restarts in each thread. */
export function clockOriginMs(): number {
  let originMs = 0;
  let leastMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < READINGS; i++) {
    const beforeMs = performance.now();
    const machineMs = Number(process.hrtime.bigint()) / 1e6;
    const tookMs = performance.now() - beforeMs;
    // The system may have suspended the thread in between.
    if (tookMs < leastMs) originMs = machineMs - beforeMs - tookMs / 2;
    leastMs = Math.min(leastMs, tookMs);
  }
  return originMs;
}

/** Makes a clock for this thread that agrees, within about a microsecond, with that of the thread that has this origin. */
export function clockSince(originMs: number): TimerClock {
  const laterMs = clockOriginMs() - originMs;
  return { ...systemClock, monotonicMs: () => performance.now() + laterMs };
}

/** Adds the timers of this machine to a clock that a test or a simulation sets. */
export function withTimers(clock: Clock): TimerClock {
  return { ...systemClock, epochMs: () => clock.epochMs(), monotonicMs: () => clock.monotonicMs() };
}

/** A wait that no sweep has seen yet. */
const NOT_SEEN = -1;

/** Measures how long a wait has lasted, from the first sweep that sees it, so that a request need not read the clock. */
export class StallTimer {
  #sinceMs = NOT_SEEN;

  begin(): void {
    this.#sinceMs = NOT_SEEN;
  }

  /** Milliseconds since the wait began, or since something last moved. Call it at every sweep, and only then. */
  waitedMs(nowMs: number, moved: boolean): number {
    if (moved || this.#sinceMs === NOT_SEEN) this.#sinceMs = nowMs;
    return nowMs - this.#sinceMs;
  }
}

/** A task for the end of a turn of the event loop. */
export interface TurnTask {
  turnEnded(): void;
}

/** With this many waiting tasks, they are run at once, even if sockets still have data to read. */
const MAX_WAITING = 256;
/** How many rounds of tasks added by other tasks are run before sockets are read again. */
const MAX_ROUNDS = 16;

let tasks: TurnTask[] = [];
let isAsked = false;
/** How many turns have ended in which there were tasks. */
let turns = 0;
let isDoing = false;

/**
 * Calls the task once, after this turn of the event loop has read from its sockets. Tasks are called in order.
 *
 * Messages written then are sent right after one another. If they were written between reads, each would wake its receiver again:
 * bench/README.md has the figures.
 */
export function atTurnEnd(task: TurnTask): void {
  const waiting = tasks.push(task);
  // Tasks added by other tasks always wait: otherwise timers and sockets would have to wait for all of them.
  if (waiting === MAX_WAITING && !isDoing) process.nextTick(doTasks);
  if (isAsked) return;
  isAsked = true;
  setImmediate(endTurn);
}

/** Numbers turns of the event loop. Between two numbers the loop has looked at every socket. */
export function turnNumber(): number {
  return turns;
}

/** Calls back in the next turn of the event loop. Between a timer and this call, the loop reads every socket. */
export function inNextTurn(run: () => void): void {
  setImmediate(run);
}

function endTurn(): void {
  for (let round = 0; round < MAX_ROUNDS && tasks.length > 0; round++) doTasks();
  isAsked = tasks.length > 0;
  if (isAsked) setImmediate(endTurn);
  turns++;
}

function doTasks(): void {
  const due = tasks;
  tasks = [];
  isDoing = true;
  for (const task of due) task.turnEnded();
  isDoing = false;
}

/**
 * Passes what the socket reads to `take`, without the events and the tick that a Node.js stream has for each piece: a microsecond
 * per request. docs/decisions/019-reads-of-clients.md explains why by `push`. Returns a function that ends this; the socket then
 * keeps what it reads.
 */
export function readDirectly(socket: Socket, take: (bytes: Buffer) => void): () => void {
  const { push } = socket;
  // Takes what was buffered in the stream, after a pause or an `unshift`.
  socket.on('data', take);
  socket.push = (piece: Buffer | null): boolean => {
    if (piece === null || socket.readableFlowing !== true || socket.readableLength > 0)
      return push.call(socket, piece);
    take(piece);
    return true;
  };
  return () => {
    socket.off('data', take);
    socket.push = push;
  };
}

/**
 * The world of a gateway: the source of everything it receives and waits for. Injected, so that a test can substitute another
 * world: the linter prevents other rooms from using Node's own.
 */
export interface System {
  readonly clock: TimerClock;
  readonly random: Random;
  readonly randomBytes: RandomBytes;
  readonly network: Network;
  readonly files: WritableFiles;
}

/** Asks DNS for the records of a name; rejects with Node's errors. */
export type Resolver = Pick<promises.Resolver, 'resolve4' | 'resolve6' | 'resolveSrv'>;

/** How long a DNS server may take to answer, and how often all are asked. */
const DNS_WAITS = { timeout: 2_000, tries: 2 };

/**
 * The place where a server listens. For `::`, which means every address, the host is omitted: Node.js then uses IPv4 only if the
 * system has no IPv6.
 */
export function listenPlace({ host, port }: { readonly host: string; readonly port: number }) {
  return host === '::' ? { port } : { host, port };
}

export interface Network {
  connect(options: NetConnectOpts): Socket;
  secureConnect(options: ConnectionOptions): TLSSocket;
  /** Finds the addresses of a name. To be passed to `connect` and `secureConnect`. */
  readonly lookup: LookupFunction;
  /** Makes a client of the DNS servers that this machine has now. */
  createResolver(): Resolver;
  /** Makes a server, which does not listen yet. */
  createServer(options: ServerOpts, onSocket: (socket: Socket) => void): Server;
  createHttpServer(onRequest: RequestListener): HttpServer;
}

/** Reads and watches files, with Node's errors. */
export interface Files {
  open(path: string): Promise<OpenFile>;
  readdir(folder: string): Promise<string[]>;
  stat(path: string): Promise<FileStat>;
  /** Reads the status of a symbolic link itself, not of its target. */
  lstat(path: string): Promise<FileStat>;
  /** Reads where a symbolic link points. */
  readlink(path: string): Promise<string>;
  /** Emits `change` with the name of an entry of this folder. Does not keep the process running. */
  watch(folder: string): FSWatcher;
}

/** Also replaces files. */
export interface WritableFiles extends Files {
  /** Makes an empty file that only this user may read and write, replacing any file with this name. */
  create(path: string): Promise<NewFile>;
  rename(from: string, to: string): Promise<void>;
  /** Waits until the names in a folder are on the disk. Not supported by every file system. */
  syncFolder(folder: string): Promise<void>;
  remove(path: string): Promise<void>;
}

interface OpenFile {
  stat(): Promise<FileStat>;
  /** Continues reading after the last read. Returns no bytes at the end of the file. */
  read(into: Buffer, offset: number, length: number, position: null): Promise<{ readonly bytesRead: number }>;
  close(): Promise<void>;
}

interface NewFile {
  write(piece: string | Uint8Array): Promise<unknown>;
  /** Waits until its bytes are on the disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

type FileStat = Pick<Stats, 'dev' | 'ino' | 'birthtimeMs' | 'isFile' | 'isDirectory' | 'isSymbolicLink'>;

/** The machine that this process runs on. */
export const thisMachine: System = {
  clock: systemClock,
  random: Math.random,
  randomBytes: count => randomBytes(count),
  network: {
    connect,
    secureConnect,
    lookup,
    createServer,
    createHttpServer: nodeHttp.createServer,
    // A new resolver reads the system's configuration again.
    createResolver: () => new promises.Resolver(DNS_WAITS),
  },
  files: {
    open: path => open(path),
    async create(path) {
      // An old file would keep its mode.
      await rm(path, { force: true });
      const file = await open(path, 'wx', 0o600);
      return {
        // A single write may write only a part, for example on a full disk.
        write: piece => file.appendFile(piece),
        sync: () => file.sync(),
        close: () => file.close(),
      };
    },
    rename: (from, to) => rename(from, to),
    async syncFolder(path) {
      const folder = await open(path);
      await folder.sync().finally(() => folder.close());
    },
    remove: path => rm(path, { force: true }),
    readdir: folder => readdir(folder),
    stat: path => stat(path),
    lstat: path => lstat(path),
    readlink: path => readlink(path),
    watch: folder => watch(folder, { persistent: false }),
  },
};

/** Waits for `work`, but no longer than `ms`. Returns false if it took longer. */
export function finishedWithin(ms: number, work: Promise<unknown>, clock: TimerClock): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => resolve(false));
    work.finally(() => clock.cancel(timer)).then(() => resolve(true), reject);
  });
}

export function pause(ms: number, clock: TimerClock): Promise<void> {
  return new Promise(resolve => {
    clock.after(ms, resolve);
  });
}
