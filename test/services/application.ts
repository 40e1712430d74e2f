import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import type { ConfigPart } from '../support/gateway.ts';
import { atEnd } from '../support/lifetime.ts';
import { waitFor } from '../support/wait.ts';

/** An application of others, as data: how it is fetched, started and used. docs/services.md has a row of it. */
export interface Application {
  /** With the version that was tried: `socket.io 4.8`. */
  readonly name: string;
  /** What `use` does, for the table. */
  readonly usedBy: string;
  /** Packages of npm that it consists of, with their versions. */
  readonly packages?: readonly string[];
  /** Versions of what these depend on, in place of those that they name. */
  readonly overrides?: Readonly<Record<string, string>>;
  /** Packages of PyPI that it and its client consist of, with their versions: `venv` in its folder has them. */
  readonly pythonPackages?: readonly string[];
  /** Fetches what is not of npm or PyPI. Returns when it is there. */
  fetch?(): void;
  /** Starts it in a folder that has its packages. Returns its port; the end of the test stops it. */
  start(folder: string): Promise<number>;
  /** Keys that its upstream and its route need behind Weir. */
  readonly upstream?: ConfigPart;
  readonly route?: ConfigPart;
  /** The services of gRPC that it has, each with a route of its own; clients speak HTTP/2 in cleartext. Default: it is no gRPC. */
  readonly grpc?: readonly string[];
  /** What is different through nginx as the usual guides configure it, for the table, and what says so. Default: nothing. */
  readonly nginx?: readonly [difference: string, seen: RegExp];
  /**
   * Uses it at this URL by a client of its own, and returns what the client saw: the same text whatever is in between, but for the host
   * of the URL.
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

/** Starts a program in a folder, which the end of the test stops. Resolves when its port listens. */
export async function startProgram(
  folder: string,
  port: number,
  command: string,
  ...args: string[]
): Promise<number> {
  const program = launch(command, args, { cwd: folder, env: environment(folder) });
  let output = '';
  for (const stream of [program.stdout, program.stderr])
    stream?.on('data', text => (output = `${output}${text}`.slice(-10_000)));
  const listens = async () => {
    if (program.exitCode !== null) throw new Error(`${command} ended: ${output}`);
    return (await fetch(`http://127.0.0.1:${port}/`, { redirect: 'manual' }).catch(() => null)) !== null;
  };
  await waitFor(`${command} listens`, listens, 240_000);
  return port;
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
  return { ...process.env, HOME: folder, NO_COLOR: '1', GIT_TERMINAL_PROMPT: '0' };
}
