import type { Server } from 'node:net';
import type { HostPort, ListenModel, LoadedConfig, Snapshot } from '../../config/index.ts';
import { withoutTexts } from '../../config/index.ts';
import type { MainPart, Network, System } from '../../core/index.ts';
import { errorText, finishedWithin, type SharedMemory } from '../../core/index.ts';
import type { BoundAddresses } from '../../edge/server/index.ts';
import type { SharedPermits } from '../../limits/index.ts';
import type { Logger } from '../../observe/index.ts';
import { WorkerReports, type Workers } from '../app/index.ts';
import type { HostedPlane, PlaneHost } from './hosts.ts';
import type { PlaneConfig } from './messages.ts';
import { connectWorker } from './worker-part.ts';

/**
 * How much longer than its drain a worker may take to end, milliseconds: it closes connections to upstreams and sends its last
 * spans.
 */
const END_MS = 5_000;

/** A worker that takes longer to compile a configuration is pinged. */
const PREPARE_MS = 20_000;
/** A worker that does not answer the ping for this long is considered hung. */
const ANSWER_MS = 10_000;

/** This many deaths within that time, or two per worker, are a loop: what kills the workers will happen again. */
const MAX_DEATHS = 5;
const WITHIN_MS = 60_000;

export interface ControlOptions {
  /** The first configuration, and how many workers serve it. */
  readonly loaded: LoadedConfig;
  readonly host: PlaneHost;
  /** What the main thread shares with the workers. */
  readonly part: MainPart;
  /** The memory in which all threads count. Its tables are made before the workers listen. */
  readonly memory: SharedMemory;
  readonly permits: SharedPermits;
  readonly system: System;
  readonly log: Logger;
}

/** A worker that serves, or is about to. */
interface Plane {
  readonly worker: number;
  readonly hosted: HostedPlane;
  /** Ends what it shares with the others. */
  readonly disconnect: () => void;
  /** Whether it takes part in reloads: not before it has caught up with them. */
  serves: boolean;
}

/**
 * Runs the workers of a process from its main thread: starts them, passes each the configuration, replaces those that
 * die, and ends them. A configuration is used by all or by none.
 */
export class ControlPlane implements Workers {
  /** Resolves, with the reason, if the process must end because workers die repeatedly. */
  readonly failed: Promise<string>;
  readonly reports: WorkerReports;
  readonly #options: Omit<ControlOptions, 'loaded'>;
  readonly #count: number;
  readonly #listen: ListenModel;
  readonly #fail: (cause: string) => void;
  readonly #planes = new Map<number, Plane>();
  /** When workers recently died, on the monotonic clock. */
  #deathsMs: readonly number[] = [];
  /** The configuration that each worker starts with: a reload cannot change all of it. */
  readonly #first: PlaneConfig;
  #config: PlaneConfig;
  /** A configuration that is prepared and waiting. */
  #next: PlaneConfig | null = null;
  #addresses: BoundAddresses | null = null;
  /** True once workers are no longer replaced. */
  #ending = false;
  /** True once workers are told to end. */
  #over = false;

  constructor({ loaded, ...options }: ControlOptions) {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.failed = promise;
    this.#fail = resolve;
    this.#options = options;
    this.reports = new WorkerReports(options.system.clock);
    this.#count = loaded.snapshot.workers.count;
    this.#listen = loaded.snapshot.listen;
    this.#first = configOf(loaded);
    this.#config = this.#first;
  }

  get connections(): number {
    return this.reports.connections;
  }

  get serves(): boolean {
    return this.#serving().length > 0;
  }

  /**
   * Starts the workers. All load their code, then all compile the configuration; the first to listen determines the ports
   * configured as 0. In this order because V8 flags, which collecting garbage sets temporarily, apply to all
   * threads, and V8 accepts no cached code while they are set.
   */
  async listen(): Promise<BoundAddresses> {
    const { http, redirect, grpc } = this.#listen;
    const asked = {
      http: http.address,
      redirect: redirect?.address ?? null,
      grpc: grpc?.address ?? null,
    };
    const release = await claim(asked, this.#options.system.network);
    try {
      const first = this.#start(1);
      const others = Array.from({ length: this.#count - 1 }, (_, index) => this.#start(index + 2));
      const all = [first, ...others];
      await Promise.all(all.map(({ hosted }) => hosted.link.ask('load', null)));
      await Promise.all(all.map(({ hosted }) => hosted.link.ask('open', this.#first)));
      const addresses = await this.#join(first, asked);
      this.#addresses = addresses;
      await Promise.all(others.map(plane => this.#join(plane, addresses)));
      return addresses;
    } finally {
      release();
    }
  }

  async prepare(loaded: LoadedConfig): Promise<void> {
    const config = configOf(loaded);
    const prepared = new Set<Plane>();
    // Workers that begin to serve meanwhile prepare it as well.
    for (let planes = this.#serving(); planes.length > 0; ) {
      // Waits for all of them even if one refuses: the next configuration gets the same number.
      const outcomes = await Promise.allSettled(planes.map(plane => this.#prepare(plane, config)));
      const refusal = outcomes.find(outcome => outcome.status === 'rejected');
      if (refusal !== undefined) {
        this.#discard(config);
        throw refusal.reason;
      }
      for (const plane of planes) prepared.add(plane);
      planes = this.#serving().filter(plane => !prepared.has(plane));
    }
    if (this.#next !== null && this.#next.generation !== config.generation) this.#discard(this.#next);
    this.#next = config;
  }

  use({ generation }: Snapshot): void {
    if (this.#next?.generation !== generation) throw new Error(`generation ${generation} was not prepared`);
    this.#config = this.#next;
    this.#next = null;
    for (const { hosted } of this.#serving()) hosted.link.post('commit', generation);
  }

  async drain(delayMs: number, drainMs: number): Promise<boolean> {
    this.#ending = true;
    for (const { hosted, serves } of this.#planes.values()) if (!serves) hosted.end();
    const drained = this.#serving().map(({ hosted }) => hosted.link.ask('drain', null).catch(() => false));
    const ended = Promise.all(drained);
    const { clock } = this.#options.system;
    const inTime =
      (await finishedWithin(delayMs + drainMs + END_MS, ended, clock)) && (await ended).every(Boolean);
    this.destroy();
    return inTime;
  }

  destroy(): void {
    this.#ending = true;
    this.#over = true;
    for (const { hosted } of this.#planes.values()) hosted.end();
  }

  #serving(): Plane[] {
    return [...this.#planes.values()].filter(({ serves }) => serves);
  }

  /** A worker that dies meanwhile, or does not answer and is ended, is replaced by one that catches up. */
  async #prepare(plane: Plane, config: PlaneConfig): Promise<void> {
    const { system, log } = this.#options;
    const { worker, hosted } = plane;
    try {
      const handed = hosted.link.ask('prepare', config);
      while (!(await finishedWithin(PREPARE_MS, handed, system.clock))) {
        // It compiles in slices and answers between them, so a worker that only lacks processor time is not replaced.
        if (await finishedWithin(ANSWER_MS, hosted.link.ask('known', null), system.clock)) continue;
        log.error({ type: 'worker', worker, waitedMs: ANSWER_MS }, 'a worker hangs, and is ended');
        return hosted.end();
      }
    } catch (error) {
      if (this.#planes.get(plane.worker) !== plane) return;
      throw new Error(`a worker cannot use it: ${errorText(error)}`);
    }
  }

  #discard({ generation }: PlaneConfig): void {
    for (const { hosted } of this.#serving()) hosted.link.post('discard', generation);
  }

  #start(worker: number): Plane {
    const { host, log, part, memory, permits } = this.#options;
    const hosted = host.start({
      worker,
      id: part.id,
      memory: memory.handover,
      permitKeys: permits.capacity,
    });
    const plane: Plane = { worker, hosted, disconnect: connectWorker(part, hosted.link), serves: false };
    this.#planes.set(worker, plane);
    hosted.link.on('lines', ({ text, count, dropped }) => {
      if (dropped > 0) log.destination.missed?.(dropped);
      log.destination.write(text, count);
      hosted.link.post('linesTaken', text.length);
    });
    const { link } = hosted;
    link.on(
      'report',
      this.reports.started(worker, wanted => link.ask('report', wanted)),
    );
    void hosted.ended.then(cause => this.#ended(plane, cause));
    return plane;
  }

  /** Brings a worker with the first configuration to the current one, to serve with the others. */
  async #join(plane: Plane, addresses: BoundAddresses): Promise<BoundAddresses> {
    const { link } = plane.hosted;
    let config = this.#first;
    let next: PlaneConfig | null = null;
    // Reloads continue meanwhile without this worker, so check again.
    while (config !== this.#config || next !== this.#next) {
      const isBehind = config !== this.#config;
      const wanted = isBehind ? this.#config : this.#next;
      if (wanted !== null) await link.ask('prepare', wanted);
      if (isBehind && wanted !== null) link.post('commit', wanted.generation);
      [config, next] = isBehind && wanted !== null ? [wanted, null] : [config, wanted];
    }
    plane.serves = true;
    return link.ask('listen', addresses);
  }

  #ended(plane: Plane, cause: string): void {
    const { worker } = plane;
    const { log, memory, permits } = this.#options;
    // Recover first: the other threads may be waiting for a lock that it held.
    memory.recover(worker);
    const freed = permits.giveBackAll(worker);
    plane.disconnect();
    this.reports.ended(worker);
    this.#planes.delete(worker);
    if (this.#over || this.#addresses === null) return;
    if (this.#ending) {
      if (plane.serves) log.error({ type: 'worker', worker, cause }, 'a worker ended while it drained');
      return;
    }
    log.error({ type: 'worker', worker, cause }, 'a worker ended and is replaced');
    if (this.#isLoop()) {
      this.#ending = true;
      this.#fail(cause);
      return;
    }
    void freed.then(() => this.#replace(worker));
  }

  /** Records a death. Returns whether there were too many recently: a loop, not an accident. */
  #isLoop(): boolean {
    const nowMs = this.#options.system.clock.monotonicMs();
    this.#deathsMs = [...this.#deathsMs.filter(atMs => nowMs - atMs < WITHIN_MS), nowMs];
    return this.#deathsMs.length >= Math.max(MAX_DEATHS, 2 * this.#count);
  }

  async #replace(worker: number): Promise<void> {
    if (this.#ending || this.#addresses === null) return;
    const plane = this.#start(worker);
    try {
      await plane.hosted.link.ask('open', this.#first);
      await this.#join(plane, this.#addresses);
      this.#options.log.info({ type: 'worker', worker }, 'a new worker has taken its place');
    } catch (error) {
      // If it has already ended, `#ended` reports and counts that.
      plane.hosted.end();
      // All workers end, including this one.
      if (this.#ending) return;
      this.#options.log.error({ type: 'worker', worker, cause: errorText(error) }, 'a worker cannot start');
    }
  }
}

function configOf({ snapshot, data }: LoadedConfig): PlaneConfig {
  return { generation: snapshot.generation, data: withoutTexts(data) };
}

/**
 * Ensures that only this process listens at these addresses. Listeners that share a port would share it with another process of
 * the same user as well, which would then get some of the clients. Rejects with Node's error.
 *
 * @returns a function that ends the claim, which keeps out another gateway that starts at the same time. Call it once the workers
 * listen
 */
async function claim({ http, redirect, grpc }: BoundAddresses, network: Network): Promise<() => void> {
  const claims: Server[] = [];
  const release = () => {
    for (const each of claims) each.close();
  };
  try {
    for (const address of [http, redirect, grpc]) {
      // The system picks a free port where the configuration says 0, so there is nothing to claim.
      if (address === null || address.port === 0) continue;
      if (process.platform === 'linux') claims.push(await claimName(address, network));
      const alone = await listening({ ...address }, network);
      await new Promise(resolve => alone.close(resolve));
    }
  } catch (error) {
    release();
    throw error;
  }
  return release;
}

/**
 * Takes a name in Linux that only one process of a network can have, and that is released with it (unix(7), abstract sockets).
 */
async function claimName({ host, port }: HostPort, network: Network): Promise<Server> {
  try {
    return await listening({ path: `\0weir-listens-${host}-${port}` }, network);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw Object.assign(new Error('claimed', { cause: error }), {
      code,
      syscall: 'listen',
      address: host,
      port,
    });
  }
}

async function listening(where: HostPort | { readonly path: string }, network: Network): Promise<Server> {
  const server = network.createServer({}, socket => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(where, resolve);
  });
  return server;
}
