import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A server in a process of its own, so that what it uses up can be told from what the others do. */
export interface Part {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts `node ARGUMENTS` with the given environment added and waits until it listens on `port`. */
export async function startPart(
  parameters: readonly string[],
  port: number,
  environment: Readonly<Record<string, string>> = {},
): Promise<Part> {
  const child = spawn(process.execPath, parameters, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await listening(child, port);
  return { pid: child.pid ?? 0, port, stop: () => stop(child) };
}

/** A port of the loopback interface that nobody listens on at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  return address.port;
}

async function listening(child: ChildProcess, port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (child.exitCode !== null) throw new Error(`${child.spawnargs.join(' ')} ended with ${child.exitCode}`);
    if (await accepts(port)) return;
    await sleep(50);
  }
  throw new Error(`${child.spawnargs.join(' ')} does not listen on port ${port} after 10 s`);
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

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}
