import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ConfigPart } from '../support/gateway.ts';
import { atEnd } from '../support/lifetime.ts';

/** An application of others, as data: how it is fetched, started and used. docs/services.md has a row of it. */
export interface Application {
  /** With the version that was tried: `socket.io 4.8`. */
  readonly name: string;
  /** What `use` does, for the table. */
  readonly usedBy: string;
  /** Packages of npm that it consists of, with their versions. */
  readonly packages?: readonly string[];
  /** Fetches what is not of npm. Returns when it is there. */
  fetch?(): void;
  /** Starts it in a folder that has its packages. Returns its port; the end of the test stops it. */
  start(folder: string): Promise<number>;
  /** Keys that it needs behind Weir: of its upstream, of its route, and others. */
  readonly upstream?: ConfigPart;
  readonly route?: ConfigPart;
  readonly config?: ConfigPart;
  /** Whether its clients speak HTTP/2 in cleartext. Default: HTTP/1.1. */
  readonly h2c?: boolean;
  /** What is different through nginx as its documentation configures it, for the table. Default: nothing. */
  readonly nginx?: string;
  /**
   * Uses it at this URL by a client of its own, and returns what the client saw: the same text whatever is in between.
   *
   * @param run a name of this use, which no other has
   */
  use(url: string, folder: string, run: string): Promise<string>;
}

/** Runs a program in a folder and returns what it wrote. */
export async function run(folder: string, command: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, {
    cwd: folder,
    env: environment(folder),
    maxBuffer: 64 * 1024 ** 2,
  });
  return stdout;
}

/** Starts a server in a module of JavaScript, which prints its port. */
export async function startModule(folder: string, file: string): Promise<number> {
  const server = launch(process.execPath, [file], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = server.stdout === null ? [] : ((await once(server.stdout, 'data')) as [Buffer]);
  return Number(port?.toString());
}

function launch(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const program = spawn(command, args, options);
  const gone = once(program, 'exit');
  atEnd(() => {
    program.kill();
    return gone;
  });
  return program;
}

/** Programs that keep something at home have the folder for that. */
function environment(folder: string): NodeJS.ProcessEnv {
  return { ...process.env, HOME: join(folder), NO_COLOR: '1', GIT_TERMINAL_PROMPT: '0' };
}
