import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ConfigPart } from '../support/gateway.ts';

/** An application of others, as data: how it is fetched, started and used. */
export interface Application {
  readonly name: string;
  /** Packages of npm that it consists of, with their versions. */
  readonly packages: readonly string[];
  /** Starts it in a folder that has its packages. Returns its port; the end of the test stops it. */
  start(folder: string): Promise<number>;
  /** Keys of its upstream and of its route that it needs behind Weir. */
  readonly upstream: ConfigPart;
  readonly route: ConfigPart;
  /**
   * Uses it at this URL by a client of its own, and returns what the client saw: the same text whatever is in between.
   *
   * @param run a name of this use, which no other has
   */
  use(url: string, folder: string, run: string): Promise<string>;
}

/** Runs a program in a folder and returns what it wrote. */
export async function run(folder: string, command: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, NO_COLOR: '1', GIT_TERMINAL_PROMPT: '0' };
  const { stdout } = await promisify(execFile)(command, args, {
    cwd: folder,
    env,
    maxBuffer: 64 * 1024 ** 2,
  });
  return stdout;
}
