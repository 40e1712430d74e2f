import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { JAVA_OPTIONS } from './distribution.ts';

/** The administrator of the realm `master`. The password protects nothing: the server is on loopback and forgets everything at its end. */
export const ADMINISTRATOR = { username: 'admin', password: 'admin' } as const;

const MAX_START_CHECKS = 1_800;
const START_CHECK_MS = 100;

export interface KeycloakOptions {
  /** The folder of the distribution, from `provideKeycloak`. */
  readonly home: string;
  readonly port: number;
}

/** A Keycloak of our own on 127.0.0.1, with the realm `master` only, whose database is a temporary folder. */
export class Keycloak {
  readonly origin: string;
  readonly #options: KeycloakOptions;
  readonly #database: string;
  #process: ChildProcess | null = null;
  #output = '';

  constructor(options: KeycloakOptions, database: string) {
    this.origin = `http://127.0.0.1:${options.port}`;
    this.#options = options;
    this.#database = database;
  }

  /** Starts it. After `stop` it still has its data. Resolves when it responds, after 8 to 20 seconds. */
  async start(): Promise<void> {
    const { home, port } = this.#options;
    const flags = [
      '--http-enabled=true',
      '--http-host=127.0.0.1',
      `--http-port=${port}`,
      '--hostname-strict=false',
    ];
    // `detached` gives it a process group of its own: kc.sh starts Java, and Ctrl-C must not end it before the gateway.
    const child = spawn(join(home, 'bin/kc.sh'), ['start', '--optimized', '--cache=local', ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env: {
        ...process.env,
        ...JAVA_OPTIONS,
        KC_DB_URL: `jdbc:h2:file:${join(this.#database, 'keycloak')};NON_KEYWORDS=VALUE;DB_CLOSE_ON_EXIT=FALSE`,
        KC_BOOTSTRAP_ADMIN_USERNAME: ADMINISTRATOR.username,
        KC_BOOTSTRAP_ADMIN_PASSWORD: ADMINISTRATOR.password,
      },
    });
    this.#process = child;
    this.#output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', text => {
        this.#output = (this.#output + String(text)).slice(-20_000);
      });
    }
    await this.#waitUntilItResponds(child);
  }

  /** Ends it. Codes, sessions and keys are kept. */
  async stop(): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null || hasEnded(child)) return;
    const gone = once(child, 'exit');
    this.#signal(child, 'SIGTERM');
    const late = setTimeout(() => this.#signal(child, 'SIGKILL'), 10_000);
    await gone;
    clearTimeout(late);
  }

  /** Ends it and removes its database. */
  async close(): Promise<void> {
    await this.stop();
    await rm(this.#database, { recursive: true, force: true, maxRetries: 5 });
  }

  async #waitUntilItResponds(child: ChildProcess): Promise<void> {
    for (let check = 0; check < MAX_START_CHECKS; check += 1) {
      if (hasEnded(child)) throw new Error(`Keycloak could not start:\n${this.#output}`);
      const response = await fetch(`${this.origin}/realms/master`).catch(() => null);
      await response?.body?.cancel();
      if (response?.ok) return;
      await pause(START_CHECK_MS);
    }
    throw new Error(`Keycloak has not started within minutes:\n${this.#output}`);
  }

  #signal(child: ChildProcess, signal: NodeJS.Signals): void {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // It ended by itself.
    }
  }
}

/** Starts a Keycloak with a new database. */
export async function startKeycloak(options: KeycloakOptions): Promise<Keycloak> {
  const keycloak = new Keycloak(options, await mkdtemp(join(tmpdir(), 'weir-keycloak-')));
  try {
    await keycloak.start();
    return keycloak;
  } catch (error) {
    await keycloak.close();
    throw error;
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
