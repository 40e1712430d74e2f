import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { PACKAGE_ROOT } from '../../core/index.ts';

/**
 * The administrator of the realm `master`. The password protects nothing: the server is on loopback and forgets everything when
 * it stops.
 */
export const ADMINISTRATOR = { username: 'admin', password: 'admin' } as const;

const MAX_START_CHECKS = 1_800;
const START_CHECK_MS = 100;

interface KeycloakOptions {
  /** The folder of the distribution, from `provideKeycloak`. */
  readonly home: string;
  readonly port: number;
  /** Its address for browsers and in tokens; it still answers under any name. Default: the host of each request. */
  readonly hostname?: string;
}

/** A private Keycloak on 127.0.0.1 with only the realm `master`, whose database is a temporary folder. */
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

  /** Starts the server. After `stop`, it starts with its old data. Resolves when it responds, after 8 to 20 seconds. */
  async start(): Promise<void> {
    const { home, port, hostname } = this.#options;
    const flags = [
      '--http-enabled=true',
      '--http-host=127.0.0.1',
      `--http-port=${port}`,
      ...(hostname === undefined
        ? ['--hostname-strict=false']
        : [`--hostname=${hostname}`, '--hostname-backchannel-dynamic=true']),
    ];
    // `detached` gives it its own process group: kc.sh starts Java, and Ctrl-C must not end it before the gateway.
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

  /** Stops the server and removes its database. */
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
      // The server has already ended.
    }
  }
}

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

const KEYCLOAK_VERSION = '26.7.3';
/** SHA-512 of its distribution. */
const CHECKSUM =
  '664c8ac2997d94b69825af70acc3a6017a7a53a1504a6e21b2d82a04e5f53593b30cabdf80ffe3eb661f13442a57fbc15c4186a1899f2841e8145532e5ae7e1c';

const CACHE = resolve(PACKAGE_ROOT, 'node_modules/.cache/keycloak');
const OLDEST_JAVA = 17;

/** Limits Java to its first compiler, which makes Keycloak start in two thirds of the time. */
const JAVA_OPTIONS = { JAVA_OPTS_APPEND: '-XX:TieredStopAtLevel=1' } as const;

/**
 * Downloads Keycloak with Maven and prepares it for a quick start, unless already done. Keeps it in
 * `node_modules/.cache/keycloak`. Takes half a minute the first time.
 *
 * Rejects with an `Error` for the user if Java or Maven are missing, or the download is not the one known here.
 *
 * @param say shows a line of progress
 * @param cache where distributions are kept @returns the folder of the distribution
 */
export async function provideKeycloak(say: (line: string) => void, cache = CACHE): Promise<string> {
  await requireJava();
  const home = join(cache, `${KEYCLOAK_VERSION}-dev-file`);
  if (existsSync(home)) return home;
  await requireMaven();
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'fetching-'));
  try {
    say(`fetching Keycloak ${KEYCLOAK_VERSION} by Maven (176 MB)`);
    await fetchInto(folder);
    say(`preparing Keycloak ${KEYCLOAK_VERSION} for quick starts (about 20 seconds, once)`);
    await run(join(folder, 'bin/kc.sh'), ['build', '--db=dev-file'], { ...process.env, ...JAVA_OPTIONS });
    // Another process may have been faster.
    await rename(folder, home).catch(error => {
      if (!existsSync(home)) throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return home;
}

/** Downloads with `dependency:copy`, which uses the local repository, mirrors and proxies of the user's Maven. */
async function fetchInto(folder: string): Promise<void> {
  const artifact = `org.keycloak:keycloak-quarkus-dist:${KEYCLOAK_VERSION}:tar.gz`;
  const file = join(folder, `keycloak-quarkus-dist-${KEYCLOAK_VERSION}.tar.gz`);
  await run('mvn', ['-B', '-q', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`]);
  const hash = createHash('sha512');
  await pipeline(createReadStream(file), hash);
  const sum = hash.digest('hex');
  if (sum !== CHECKSUM)
    throw new Error(`${artifact} is not the distribution that is known here: SHA-512 ${sum}`);
  await run('tar', ['-xzf', file, '-C', folder, '--strip-components=1']);
  await rm(file);
}

async function requireJava(): Promise<void> {
  const need = `Keycloak needs Java ${OLDEST_JAVA} or newer on the PATH. On Debian, as root: apt-get install default-jre-headless`;
  // Java writes to standard error: openjdk version "17.0.15" 2025-04-15
  const said = await promisify(execFile)('java', ['-version']).catch(() => null);
  if (said === null) throw new Error(need);
  const major = Number(/version "(\d+)/.exec(said.stderr)?.[1] ?? 0);
  if (major < OLDEST_JAVA) throw new Error(`${need} (this is ${major})`);
}

async function requireMaven(): Promise<void> {
  await promisify(execFile)('mvn', ['--version']).catch(() => {
    throw new Error(
      'Keycloak is fetched by Maven, which is not on the PATH. On Debian, as root: apt-get install maven',
    );
  });
}

/** Runs a command. Shows its output only if it fails. */
async function run(command: string, args: readonly string[], env = process.env): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', text => (output += String(text)));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${command} ${args[0]} failed:\n${output}`);
}
