import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMicroseconds, residentMebibytes } from '../../bench/measure/processes.ts';
import { MEMORY_ENVIRONMENT, NODE_FLAGS, weirMain } from '../../bench/peers/weir.ts';
import { freePort } from '../../bench/world/part.ts';
import { waitFor } from '../../test/support/wait.ts';
import type { ThreadHolds } from './probe.ts';

export interface Launch {
  /** Gets gateway.yaml and the log. */
  readonly folder: string;
  /** Of gateway.yaml, without `listen.admin`. */
  readonly config: { readonly listen: Readonly<Record<string, unknown>>; readonly workers: number };
  /** Further options of Node.js. */
  readonly flags?: readonly string[];
  /** What the shell that starts it runs before, such as to join a control group. Default: there is no shell. */
  readonly before?: string | undefined;
}

/** The gateway as an operator starts it, bundled, with a probe in each thread. */
export class ProbedGateway {
  readonly #adminPort: number;
  readonly #child: ChildProcess;
  readonly #workers: number;

  private constructor(child: ChildProcess, adminPort: number, workers: number) {
    this.#child = child;
    this.#adminPort = adminPort;
    this.#workers = workers;
    process.on('exit', this.#kill);
    child.once('exit', () => process.off('exit', this.#kill));
  }

  static async start({ folder, config, flags = [], before }: Launch): Promise<ProbedGateway> {
    const adminPort = await freePort();
    const listen = { ...config.listen, admin: `127.0.0.1:${adminPort}` };
    const file = join(folder, 'gateway.yaml');
    // JSON is YAML.
    await writeFile(file, JSON.stringify({ ...config, listen }));
    const probe = join(import.meta.dirname, 'probe.ts');
    const node = [...NODE_FLAGS, ...flags, '--import', probe];
    const command = [process.execPath, ...node, await weirMain(), 'serve', '--config', file];
    // The shell becomes the gateway, so that it has its pid and its channel.
    const shell = ['/bin/sh', '-c', `${before} && exec "$@"`, 'sh'];
    const [executable = '', ...parameters] = before === undefined ? command : [...shell, ...command];
    const child = spawn(executable, parameters, {
      env: { ...process.env, ...MEMORY_ENVIRONMENT },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    keepLog(child, join(folder, 'gateway.log'));
    const gateway = new ProbedGateway(child, adminPort, config.workers);
    await waitFor('the gateway is ready', async () => {
      if (!gateway.isAlive) throw new Error(`the gateway ended at start: see ${folder}/gateway.log`);
      return gateway.admin('/readyz').then(
        ({ ok }) => ok,
        () => false,
      );
    });
    return gateway;
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Bytes. */
  get resident(): number {
    return residentMebibytes(this.#pid) * 2 ** 20;
  }

  get descriptors(): number {
    return readdirSync(`/proc/${this.#pid}/fd`).length;
  }

  get processorSeconds(): number {
    return cpuMicroseconds(this.#pid) / 1e6;
  }

  /** What each thread holds after a collection. */
  async holds(): Promise<readonly ThreadHolds[]> {
    const answer = once(this.#child, 'message');
    this.#child.send(this.#workers > 1 ? this.#workers : 0);
    return (await answer)[0];
  }

  /** The sum of all series of each of these metrics. Asks again where the connection breaks, as on a machine whose sockets take too much memory. */
  async sums(names: readonly string[]): Promise<Record<string, number>> {
    const ask = async () => (await this.admin('/metrics')).text();
    const text = await ask().catch(() => sleep(1_000).then(ask));
    const sums: Record<string, number> = {};
    for (const name of names) {
      const lines = text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'));
      sums[name] = [...lines].reduce((sum, [, value]) => sum + Number(value), 0);
    }
    return sums;
  }

  admin(path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.#adminPort}${path}`, { headers: { Connection: 'close' } });
  }

  /** Has it read its configuration again. */
  reload(): void {
    this.#child.kill('SIGHUP');
  }

  /** Ends a worker, which is then replaced; does nothing where there is none. */
  endWorker(): void {
    this.#child.send('a worker dies');
  }

  /** Ends it as a supervisor does. */
  async stop(): Promise<void> {
    if (!this.isAlive) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await gone;
  }

  get #pid(): number {
    return this.#child.pid ?? 0;
  }

  readonly #kill = () => this.#child.kill('SIGKILL');
}

/** Keeps the lines about the gateway; those about requests would fill the disk in a night. */
function keepLog(child: ChildProcess, file: string): void {
  const log = createWriteStream(file);
  if (child.stdout === null) return;
  createInterface(child.stdout).on('line', line => {
    if (!line.includes('"requestId":')) log.write(`${line}\n`);
  });
}
