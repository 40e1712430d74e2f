import { formatDiagnostic, loadConfig } from '../../../src/config/index.ts';
import { makeLogger } from '../../../src/observe/index.ts';
import { type App, startAlone } from '../../../src/process/app/index.ts';
// A gateway loads it where it is used, and to read code takes real time.
import '../../../src/gateway/runtime/shared-store.ts';
import { startWithWorkers } from '../../../src/process/workers/index.ts';
import { ROOMY } from '../../support/config-text.ts';
import { inThreadHost } from '../../support/in-thread-host.ts';
import type { Host, Process } from '../host.ts';
import type { Draws } from '../kernel/draws.ts';
import type { LimitRule } from '../oracles/within-limits.ts';
import type { World } from '../world.ts';
import type { Inhabitant } from './inhabitant.ts';

/** What it shows the provider. */
export const CLIENT_SECRET = 'the-secret-of-this-gateway';
/** What operators show it. */
export const ADMIN_TOKEN = 'the-admin-token-of-these-gateways-0123';
/** Where it listens for calls alone. */
export const CALLS_PORT = 82;

const FOLDER = '/etc/weir';
const CONFIG = `${FOLDER}/gateway.yaml`;
const LIMITS = `${FOLDER}/limits.yaml`;

/** The content of its gateway.yaml and limits.yaml. */
export interface GatewayFiles {
  readonly config: Readonly<Record<string, unknown>>;
  readonly limits: Readonly<Record<string, unknown>>;
}

/** From when to when a gateway ran; `null` while it does. */
export interface Life {
  readonly fromMs: number;
  untilMs: number | null;
  endedBy: 'kill' | 'drain' | null;
  /** The limit of the bucket `things` that it began with. */
  readonly things: LimitRule;
  /** Its log lines. */
  readonly lines: { readonly atMs: number; readonly text: string }[];
}

/** A whole gateway on a machine of its own. It is killed, and started again. */
export class WorldGateway implements Inhabitant {
  readonly name: string;
  readonly host: Host;
  readonly #world: World;
  readonly #draws: Draws;
  #process: Process | null = null;
  #app: App | null = null;
  readonly lives: Life[] = [];
  /** Its gateway.yaml, as it was written first. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly #filesOf: (address: string, things: LimitRule) => GatewayFiles;
  /** What its files say of the bucket `things`, and since when. */
  #things: LimitRule;
  changedMs = 0;

  constructor(world: World, name: string, filesOf: (address: string, things: LimitRule) => GatewayFiles) {
    this.name = name;
    this.#world = world;
    this.#draws = world.draws.part(`gateway ${name}`);
    const pace = this.#draws.one([1, 1, 1, 1.001, 0.999]);
    this.host = world.host(name, pace);
    this.#filesOf = filesOf;
    this.#things = world.limits.things;
    const { config, limits } = filesOf(this.host.address, this.#things);
    this.config = config;
    this.host.disk.put(LIMITS, JSON.stringify(limits));
    this.host.disk.put(`${FOLDER}/client-secret`, CLIENT_SECRET);
    this.host.disk.put(`${FOLDER}/admin-token`, ADMIN_TOKEN);
    this.host.disk.put('/var/lib/weir/.keep', '');
    // JSON is YAML.
    this.writeConfig(JSON.stringify(config));
  }

  /** Replaces its gateway.yaml. */
  writeConfig(text: string): void {
    this.host.disk.put(CONFIG, text);
  }

  /** Replaces its limits.yaml by one with another number. Not while it starts: which of both it began with would be unknown. */
  changeThings(units: number): void {
    if ((this.lives.at(-1)?.fromMs ?? 0) > this.#world.nowMs - 2_000) return;
    this.#things = { ...this.#things, units };
    this.changedMs = this.#world.nowMs;
    this.host.disk.put(LIMITS, JSON.stringify(this.#filesOf(this.host.address, this.#things).limits));
  }

  async start(): Promise<void> {
    const { process, system } = this.host.start();
    this.#process = process;
    const life: Life = {
      ...{ fromMs: this.#world.nowMs, untilMs: null, endedBy: null, lines: [] },
      things: this.#things,
    };
    this.lives.push(life);
    this.#world.kernel.current = process;
    const loaded = await loadConfig(CONFIG, { env: {}, generation: 1, machine: ROOMY, ...system });
    if (!loaded.ok) {
      const said = loaded.diagnostics.map(diagnostic => formatDiagnostic(diagnostic)).join('; ');
      // Only the operator's mistakes may keep it from starting, and the first files have none.
      if (this.lives.length === 1) throw new Error(said);
      this.#world.history.tell(this.name, `does not start: ${said}`);
      this.#kill(false);
      return;
    }
    const write = (lines: string) => {
      for (const line of lines.split('\n')) if (line !== '') this.#note(life, line);
    };
    const log = makeLogger(loaded.snapshot.log.level, { write });
    const options = { system, log, source: { path: CONFIG, env: {}, loaded } };
    const app = await (loaded.snapshot.workers.count === 1
      ? startAlone(loaded.snapshot, options)
      : startWithWorkers(options, inThreadHost(system, log)));
    if (process.isAlive) this.#app = app;
  }

  plan(): void {
    const draws = this.#draws.part('faults');
    const { plan } = this.#world;
    for (let i = draws.percent(40) ? draws.whole(1, 2) : 0; i > 0; i--) {
      const awayMs = draws.between(50, 5_000);
      plan.add(draws.between(1_000, 20_000), `${this.name} is killed for ${awayMs.toFixed()} ms`, own => {
        this.crash(awayMs, own.percent(30));
      });
    }
    const steps = this.host.pace === 1 && draws.percent(25) ? draws.whole(1, 3) : 0;
    for (let i = steps; i > 0; i--) {
      const byMs = draws.one([-3_600_000, -5_000, -300, 300, 5_000, 3_600_000]);
      plan.add(draws.between(1_000, 20_000), `the clock of ${this.name} steps by ${byMs} ms`, () => {
        this.host.stepWall(byMs);
      });
    }
  }

  /** Dies and comes back. `isSilent`: its machine goes, too. */
  crash(awayMs: number, isSilent: boolean): void {
    this.#kill(isSilent);
    this.#world.kernel.after(awayMs, this.#world.wires.everyone, () => void this.heal());
  }

  async heal(): Promise<void> {
    if (this.#process === null) await this.start();
  }

  /** Drains. */
  async leave(): Promise<void> {
    const [app, process] = [this.#app, this.#process];
    if (app === null || process === null) return;
    const isWhole = await app.drain();
    if (!isWhole) this.#world.wrong('drain', `${this.name} cut off requests that nobody waits for`);
    // What it has ended is over once the other end has heard of it.
    await this.#world.pause(3_000);
    for (const socket of this.#world.wires.sockets)
      if (socket.owner === process)
        this.#world.wrong(
          'sockets',
          `${this.name} has drained and keeps a socket to ${socket.remoteAddress}:${socket.remotePort}`,
        );
    this.host.kill(process, false);
    this.#ended('drain');
  }

  #kill(isSilent: boolean): void {
    if (this.#process === null) return;
    this.#world.history.tell(this.name, isSilent ? 'loses power' : 'is killed');
    this.host.kill(this.#process, isSilent);
    this.#ended('kill');
  }

  #ended(endedBy: 'kill' | 'drain'): void {
    this.#app = null;
    this.#process = null;
    const life = this.lives.at(-1);
    if (life !== undefined) Object.assign(life, { untilMs: this.#world.nowMs, endedBy });
  }

  #note(life: Life, line: string): void {
    life.lines.push({ atMs: this.#world.nowMs, text: line });
    this.#world.history.tell(`${this.name} logs`, line);
    for (const secret of this.#world.secrets)
      if (line.includes(secret))
        this.#world.wrong('secrets', `a log line of ${this.name} holds one: ${line}`);
  }
}
