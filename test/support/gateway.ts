import { writeFile } from 'node:fs/promises';
import type { AddressInfo, Server, Socket } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { formatDiagnostic, type LoadResult, loadConfig, type Snapshot } from '../../src/config/index.ts';
import {
  type Network,
  type ProcessPart,
  type System,
  type TimerClock,
  thisMachine,
} from '../../src/core/index.ts';
import { makeLogger } from '../../src/observe/index.ts';
import {
  type App,
  openStateOf,
  type StartOptions,
  startAlone,
  startApp,
} from '../../src/process/app/index.ts';
import { type PlaneHost, startWithWorkers } from '../../src/process/workers/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';
import { ROOMY } from './config-text.ts';
import { inThreadHost } from './in-thread-host.ts';
import { atEnd } from './lifetime.ts';
import { tempFolder } from './temp.ts';
import { clockOfTests, forSockets, inTime } from './test-clock.ts';
import { TestGateway } from './test-gateway.ts';

/** A piece of gateway.yaml as an object. */
export type ConfigPart = Readonly<Record<string, unknown>>;

export interface GatewaySettings {
  /** Where the upstream named `api` listens, on 127.0.0.1. */
  readonly upstreamPort: number;
  /** Further keys of the upstream `api`. */
  readonly api?: ConfigPart;
  /** Further keys of the one route `/**`, which leads to `api` without authentication. */
  readonly route?: ConfigPart;
  /** Top-level keys of gateway.yaml; they replace those written here. */
  readonly config?: ConfigPart;
  /** What time it is for a gateway in this process. Default: `clockOfTests`. */
  readonly clock?: TimerClock;
  /** Where a gateway in this process connects and looks names up. Default: as this machine does. */
  readonly network?: Network;
  /** What a gateway in this process reads. Default: the files of this machine. */
  readonly files?: System['files'];
  /** How long changed files rest before a gateway in this process takes them. Default 20 ms; reloads that a test asks for do not wait. */
  readonly settleMs?: number;
  /** Where the workers of a gateway in this process run. Default: in the thread of the test. */
  readonly host?: PlaneHost;
  /** What a gateway in this process shares with others of it. Default: nothing. */
  readonly part?: ProcessPart;
}

/**
 * Writes a gateway.yaml with free ports and returns its path. The end of the running test removes it. All tests come from one
 * address: where a test names no file of limits, the global limit is off.
 */
export async function writeGatewayConfig(settings: GatewaySettings): Promise<string> {
  const folder = await tempFolder();
  await writeFile(join(folder, 'limits.yaml'), 'global: off\n');
  // A process that stands still for longer than the default would find that its upstream is late.
  const timeouts = Object.assign({ connect: '1m' }, settings.api?.['timeouts']);
  const config = {
    limits: 'limits.yaml',
    listen: { http: '127.0.0.1:0', admin: '127.0.0.1:0' },
    upstreams: { api: { url: `http://127.0.0.1:${settings.upstreamPort}`, ...settings.api, timeouts } },
    routes: [{ path: '/**', upstream: 'api', authentication: 'none', ...settings.route }],
    log: { level: 'silent', access: false },
    shutdown: { delay: '0s', drain: '5s' },
    ...settings.config,
    // Tables of keys are reserved at the start: 150 MB and several garbage collections for the default of a million. A machine that
    // is busy with other tests makes the loop late, for which the default would refuse requests.
    caps: Object.assign({ limit_keys: 2_000, event_loop_delay: 'off' }, settings.config?.['caps']),
  };
  const path = join(folder, 'gateway.yaml');
  await writeFile(path, JSON.stringify(config));
  return path;
}

/** A gateway in this process. */
export class LocalGateway extends TestGateway {
  readonly app: App;
  /** Its gateway.yaml, whose changes it follows. */
  readonly configFile: string;
  /** Lines of its log, as JSON text. */
  readonly logLines: readonly string[];
  readonly #clock: TimerClock;

  constructor(app: App, configFile: string, logLines: readonly string[], clock: TimerClock) {
    super(app.addresses.http.port, app.addresses.admin?.port ?? 0);
    this.app = app;
    this.configFile = configFile;
    this.logLines = logLines;
    this.#clock = clock;
  }

  /** Its clock, which the test moves. Where it goes by real time, one that moves nothing: what is waited for comes by itself. */
  get time(): FrozenClock {
    return this.#clock instanceof FrozenClock ? this.#clock : new FrozenClock();
  }
}

/** Starts a gateway in this process. The end of the running test drains it. */
export async function startGateway(settings: GatewaySettings): Promise<LocalGateway> {
  return startGatewayFrom(await writeGatewayConfig(settings), process.env, settings);
}

/** The same with a gateway.yaml that is there already. */
export async function startGatewayFrom(
  path: string,
  env: NodeJS.ProcessEnv = process.env,
  settings: Omit<GatewaySettings, 'upstreamPort'> = {},
): Promise<LocalGateway> {
  const loaded = await load(path, env, settings.part === undefined);
  if (!loaded.ok)
    throw new Error(loaded.diagnostics.map(diagnostic => formatDiagnostic(diagnostic)).join('\n'));
  const lines: string[] = [];
  const log = makeLogger(loaded.snapshot.log.level, { write: line => lines.push(line) });
  const source = { path, env, loaded, settleMs: settings.settleMs ?? 20 };
  const clock = settings.clock ?? clockOfTests();
  const system = {
    ...thisMachine,
    clock: forSockets(clock),
    network: settings.network ?? thisMachine.network,
    files: settings.files ?? thisMachine.files,
  };
  const options = { system, log, source };
  const isAlone = loaded.snapshot.workers.count === 1;
  const app = await (isAlone
    ? startInThread(loaded.snapshot, options, settings.part)
    : startWithWorkers(options, settings.host ?? inThreadHost(takingTurns(system), log)));
  atEnd(() => inTime(clock, app.drain()));
  return new LocalGateway(app, path, lines, clock);
}

async function startInThread(snapshot: Snapshot, options: StartOptions, part?: ProcessPart): Promise<App> {
  if (part === undefined) return startAlone(snapshot, options);
  return startApp(snapshot, { ...options, part, state: await openStateOf(snapshot, options) });
}

/**
 * Has the servers of one port take connections in turn, where the kernel would choose among them by chance: what depends on the worker
 * that serves a connection fails each time.
 */
function takingTurns(system: System): System {
  const servers = new Map<Server, (socket: Socket) => void>();
  let turn = 0;
  const take = (socket: Socket) => {
    const here = [...servers].filter(
      ([server]) => (server.address() as AddressInfo | null)?.port === socket.localPort,
    );
    here[turn++ % here.length]?.[1](socket);
  };
  const createServer: Network['createServer'] = (options, onSocket) => {
    const server = system.network.createServer(options, take);
    const taken = new Set<Promise<void>>();
    servers.set(server, socket => {
      const closed = new Promise<void>(resolve => socket.once('close', resolve)).then(
        () => void taken.delete(closed),
      );
      taken.add(closed);
      onSocket(socket);
    });
    // It has closed when those are gone that it has taken, whichever server accepted them.
    const close = server.close.bind(server);
    server.close = done => close(error => void Promise.all(taken).then(() => done?.(error)));
    return server;
  };
  return { ...system, network: { ...system.network, createServer } };
}

/** How many workers a gateway has whose configuration does not say so. */
export const STORY_WORKERS = Number(process.env['WEIR_STORY_WORKERS'] ?? 1);

let workers = STORY_WORKERS;

/** The running test is about what each worker has for itself: its gateways have none, whatever WEIR_STORY_WORKERS says. */
export function withoutWorkers(): void {
  workers = 1;
  onTestFinished(() => {
    workers = STORY_WORKERS;
  });
}

/** Loads a configuration. WEIR_STORY_WORKERS says how many workers it has, where it may and the configuration does not say so itself. */
async function load(path: string, env: NodeJS.ProcessEnv, mayHaveWorkers: boolean): Promise<LoadResult> {
  const loaded = await loadConfig(path, { env, generation: 1, machine: ROOMY });
  if (!loaded.ok || !mayHaveWorkers || loaded.snapshot.workers.count > 1 || workers === 1) return loaded;
  return { ...loaded, snapshot: { ...loaded.snapshot, workers: { count: workers, why: null } } };
}
