import type { Socket } from 'node:net';
import type { Host, Process } from '../host.ts';
import type { Draws } from '../kernel/draws.ts';
import type { Owner } from '../kernel/timeline.ts';
import type { WorldSocket } from '../network/socket.ts';
import { type Fate, RedisModel } from '../redis/redis-model.ts';
import type { World } from '../world.ts';
import type { Inhabitant } from './inhabitant.ts';

const PORT = 6379;
const FATES: readonly [Fate, Fate] = ['is lost', 'runs and its reply is lost'];

/** Who is at the other end of a connection. */
export interface Sender {
  readonly host: string;
  readonly process: Owner;
}

/** A Redis that all gateways share. Its process is killed and comes back, and whatever else happens to servers of Redis. */
export class WorldRedis implements Inhabitant {
  readonly name = 'redis';
  readonly host: Host;
  readonly model: RedisModel;
  /** Called when it has lost some of what it was told, or its clock has stepped. */
  onLoss: () => void = () => {};
  /** When something goes wrong with it, by the plan. */
  readonly faultsMs: number[] = [];
  readonly #world: World;
  readonly #draws: Draws;
  #process: Process | null = null;
  /** By the number of their connection. */
  readonly #senders = new Map<number, Sender>();

  constructor(world: World) {
    this.#world = world;
    this.host = world.host(this.name);
    this.#draws = world.draws.part(this.name);
    this.model = new RedisModel(() => Math.floor(world.kernel.epochMs() * 1_000));
  }

  get url(): string {
    return `redis://${this.host.address}:${PORT}`;
  }

  /** Who has sent what has this number of a connection. */
  senderOf(client: number): Sender | undefined {
    return this.#senders.get(client);
  }

  async start(): Promise<void> {
    const { process, network } = this.host.start();
    this.#process = process;
    this.#world.kernel.current = process;
    const server = network.asNetwork.createServer({}, socket => this.#accept(socket));
    await new Promise<void>(listening => {
      server.listen({ host: this.host.address, port: PORT }, listening);
    });
  }

  plan(): void {
    const draws = this.#draws.part('faults');
    for (let i = draws.whole(0, 5); i > 0; i--) {
      const [what, run] = draws.one<Fault>([
        this.#death(draws),
        this.#failover(draws),
        this.#freeze(draws),
        this.#spell(draws, 'is out of memory', isOn => {
          this.model.isFull = isOn;
        }),
        this.#spell(draws, 'is a read-only replica', isOn => {
          this.model.isReplica = isOn;
        }),
        this.#spell(draws, 'is loading', isOn => {
          this.model.condition = isOn ? 'loading' : 'ready';
        }),
        this.#spell(draws, 'is busy', isOn => {
          this.model.condition = isOn ? 'busy' : 'ready';
        }),
        this.#losses(draws),
        ['forgets its scripts', () => this.model.forgetScripts()],
        this.#eviction(draws),
        this.#step(draws),
      ]);
      const atMs = draws.between(1_000, 22_000);
      this.faultsMs.push(atMs);
      this.#world.plan.add(atMs, `redis ${what}`, run);
    }
  }

  async heal(): Promise<void> {
    this.model.isFull = false;
    this.model.isReplica = false;
    this.model.condition = 'ready';
    this.model.fate = () => 'runs';
    this.model.thaw();
    if (this.#process === null) await this.start();
  }

  async leave(): Promise<void> {
    this.#die(false);
  }

  #accept(socket: Socket): void {
    const session = this.model.accept({
      send: bytes => void socket.write(bytes),
      close: () => socket.destroy(),
    });
    const { peer } = socket as Socket & Pick<WorldSocket, 'peer'>;
    if (peer !== null) this.#senders.set(session.client, { host: peer.host.name, process: peer.owner });
    socket.on('data', (bytes: Buffer) => session.receive(bytes));
    socket.on('error', () => {});
    socket.on('close', () => session.gone());
    socket.on('end', () => socket.end());
  }

  #die(isSilent: boolean): void {
    if (this.#process === null) return;
    this.host.kill(this.#process, isSilent);
    this.#process = null;
  }

  #trouble(forMs: number): void {
    const { troubles, nowMs } = this.#world;
    troubles.add(null, nowMs, nowMs + forMs);
  }

  /** Some of what it was told is gone. */
  #lose(): void {
    this.#world.troubles.lose(this.#world.nowMs);
    this.onLoss();
  }

  #stepped(): void {
    this.#world.troubles.step(this.#world.nowMs);
    this.onLoss();
  }

  #later(ms: number, run: () => void): void {
    this.#world.kernel.after(ms, this.#world.wires.everyone, run);
  }

  #death(draws: Draws): Fault {
    const awayMs = draws.between(20, 6_000);
    const isSaved = draws.percent(50);
    const run: Fault[1] = own => {
      this.#die(own.percent(30));
      this.#trouble(awayMs);
      if (!isSaved) this.#lose();
      this.model.restart(isSaved);
      this.#later(awayMs, () => void this.#back());
    };
    return [`dies for ${awayMs.toFixed()} ms and comes back ${isSaved ? 'whole' : 'empty'}`, run];
  }

  async #back(): Promise<void> {
    if (this.#process === null) await this.start();
  }

  #failover(draws: Draws): Fault {
    const lost = draws.one([0, 1, 3, 20]);
    const stepMs = draws.one([0, 0, -3_000, 2_000]);
    const run = () => {
      this.#trouble(0);
      if (lost > 0) this.#lose();
      if (stepMs !== 0) this.#stepped();
      this.model.failOver(lost, stepMs);
    };
    return [`fails over to a replica that lacks ${lost} changes, its clock ${stepMs} ms ahead`, run];
  }

  #freeze(draws: Draws): Fault {
    const ms = draws.between(10, 3_000);
    const run = () => {
      this.#trouble(ms);
      this.model.freeze();
      this.#later(ms, () => this.model.thaw());
    };
    return [`stops for ${ms.toFixed()} ms`, run];
  }

  #spell(draws: Draws, what: string, turn: (isOn: boolean) => void): Fault {
    const ms = draws.between(50, 5_000);
    const run = () => {
      this.#trouble(ms);
      turn(true);
      this.#later(ms, () => turn(false));
    };
    return [`${what} for ${ms.toFixed()} ms`, run];
  }

  /** Each in so many commands is lost, or its reply, with its connection. */
  #losses(draws: Draws): Fault {
    const ms = draws.between(100, 5_000);
    const percent = draws.one([5, 20, 60]);
    const run: Fault[1] = own => {
      this.#trouble(ms);
      this.model.fate = () => (own.percent(percent) ? own.one(FATES) : 'runs');
      this.#later(ms, () => {
        this.model.fate = () => 'runs';
      });
    };
    return [`loses ${percent} % of commands or replies for ${ms.toFixed()} ms`, run];
  }

  #eviction(draws: Draws): Fault {
    const percent = draws.one([10, 50, 100]);
    const run: Fault[1] = own => {
      this.#lose();
      this.model.evict(this.model.keys.names().filter(() => own.percent(percent)));
    };
    return [`evicts ${percent} % of its keys`, run];
  }

  #step(draws: Draws): Fault {
    const ms = draws.one([-5_000, -200, 200, 5_000, 3_600_000]);
    const run = () => {
      this.#stepped();
      this.model.stepClock(ms);
    };
    return [`has its clock step by ${ms} ms`, run];
  }
}

/** What happens, and what makes it happen. */
type Fault = readonly [string, (own: Draws) => void];
