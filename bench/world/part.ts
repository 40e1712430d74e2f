import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A server in its own process, so that its processor time can be measured separately. */
export interface Part {
  readonly pid: number;
  readonly port: number;
  /** False once the process has ended. */
  isAlive(): boolean;
  stop(): Promise<void>;
}

export interface Program {
  readonly command: string;
  readonly parameters: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Takes standard output; left out, nothing does. */
  readonly outputFile?: string;
  /**
   * What it writes there once it listens. Left out, it listens when it accepts a connection: that is too early for a gateway with workers,
   * whose main thread binds the address for a moment before they do.
   */
  readonly says?: string;
}

/** The most that a start may take: a busy machine needs more than half a minute for 5,000 routes in two workers. */
const LISTEN_MS = 300_000;

const running = new Set<ChildProcess>();

/** An interrupted run leaves nothing behind that would take the processor from the next. */
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));

/** Starts a program and waits until it listens on `port`. */
export async function startPart(program: Program, port: number): Promise<Part> {
  const output = program.outputFile === undefined ? 'ignore' : openSync(program.outputFile, 'a');
  const child = spawn(program.command, program.parameters, {
    env: { ...process.env, ...program.environment },
    stdio: ['ignore', output, 'inherit'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  await listening(child, port, () => isReady(program, port));
  return { pid: child.pid ?? 0, port, isAlive: () => isAlive(child), stop: () => stop(child) };
}

/** A program of this folder, run by the Node that runs this. */
export function startNode(
  file: string,
  port: number,
  environment: Readonly<Record<string, string>>,
): Promise<Part> {
  const program = { command: process.execPath, parameters: [file] };
  return startPart({ ...program, environment: { PORT: `${port}`, ...environment } }, port);
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  return address.port;
}

async function listening(child: ChildProcess, port: number, isReady: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + LISTEN_MS;
  while (performance.now() < endMs) {
    if (!isAlive(child)) throw new Error(`${child.spawnargs.join(' ')} ended with ${child.exitCode}`);
    if (await isReady()) return;
    await sleep(50);
  }
  throw new Error(
    `${child.spawnargs.join(' ')} does not listen on port ${port} after ${LISTEN_MS / 1_000} s`,
  );
}

async function isReady({ outputFile, says }: Program, port: number): Promise<boolean> {
  if (outputFile === undefined || says === undefined) return accepts(port);
  return readFileSync(outputFile, 'utf8').includes(says);
}

function accepts(port: number): Promise<boolean> {
  return new Promise(done => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      done(true);
    });
    socket.once('error', () => done(false));
  });
}

function isAlive(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** Asks it to end, and ends it where it takes longer than 3 s: what it still does is of no interest any more. */
async function stop(child: ChildProcess): Promise<void> {
  if (!isAlive(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const impatience = setTimeout(() => child.kill('SIGKILL'), 3_000);
  await ended;
  clearTimeout(impatience);
}
