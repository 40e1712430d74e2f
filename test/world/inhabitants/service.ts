import type { Network } from '../../../src/core/index.ts';
import type { Host, Process } from '../host.ts';
import type { Draws } from '../kernel/draws.ts';
import type { World } from '../world.ts';
import type { Inhabitant } from './inhabitant.ts';

/** How long a request is held whose client has several in flight. */
export const HELD_MS = 1_000;

/** A service behind the gateways. It dies at times, and comes back. */
export abstract class Service implements Inhabitant {
  readonly name: string;
  readonly host: Host;
  protected readonly world: World;
  protected readonly draws: Draws;
  #process: Process | null = null;
  /** Where it listens. */
  readonly port = 80;

  constructor(world: World, name: string) {
    this.name = name;
    this.world = world;
    this.host = world.host(name);
    this.draws = world.draws.part(`service ${name}`);
  }

  /** Since when it lives; infinite while it does not. */
  get bornMs(): number {
    return this.#process?.isAlive === true ? this.#process.bornMs : Number.POSITIVE_INFINITY;
  }

  get url(): string {
    return `http://${this.host.address}:${this.port}`;
  }

  async start(): Promise<void> {
    const { process, system } = this.host.start();
    this.#process = process;
    this.world.kernel.current = process;
    await new Promise<void>(listening => this.listen(system.network, listening));
  }

  plan(): void {
    const draws = this.draws.part('faults');
    const { plan } = this.world;
    for (let i = draws.whole(0, 1); i > 0; i--) {
      const atMs = draws.between(1_000, 20_000);
      const awayMs = draws.between(100, 6_000);
      plan.add(atMs, `${this.name} dies for ${awayMs.toFixed()} ms`, own => {
        this.#die(own.percent(30));
        this.world.kernel.after(awayMs, this.world.wires.everyone, () => void this.heal());
      });
    }
  }

  async heal(): Promise<void> {
    if (this.#process?.isAlive !== true) await this.start();
  }

  async leave(): Promise<void> {
    this.#die(false);
  }

  /** Listens on its port. */
  protected abstract listen(network: Network, listening: () => void): void;

  /** Notes that a request of somebody has come. */
  protected heard(id: string, what: string, hasToken: boolean): void {
    const { history, nowMs, requests } = this.world;
    history.tell(this.name, `is asked ${what} ${id}`);
    const asked = requests.find(id);
    if (asked === undefined) this.world.wrong('own request', `${this.name} got a request of nobody: ${id}`);
    else asked.arrivals.push({ atMs: nowMs, hasToken });
  }

  /** What it feels like for this request, from 0 to 99. In the end of a world all are served well: one that hangs would hold a permit. */
  protected whimFor(id: string): number {
    return this.world.isHealed || id.startsWith('probe') ? 0 : this.draws.part(id).whole(0, 99);
  }

  /** Does something later, if this process lives then. */
  protected later(ms: number, run: () => void): void {
    if (this.#process !== null) this.world.kernel.after(ms, this.#process, run);
  }

  #die(isSilent: boolean): void {
    if (this.#process === null) return;
    this.host.kill(this.#process, isSilent);
    this.#process = null;
  }
}
