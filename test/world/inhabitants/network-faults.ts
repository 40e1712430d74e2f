import type { Draws } from '../kernel/draws.ts';
import type { Spell } from '../network/weather.ts';
import type { World } from '../world.ts';
import type { Inhabitant } from './inhabitant.ts';

/** When the last fault of a network is over. */
export const FAULTS_END_MS = 30_000;

/** What goes wrong between machines. */
export class NetworkFaults implements Inhabitant {
  readonly name = 'the network';
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  plan(): void {
    const draws = this.#world.draws.part('network faults');
    for (let i = draws.whole(0, 6); i > 0; i--) this.#planSpell(draws);
    for (let i = draws.whole(0, 3); i > 0; i--) this.#planBreak(draws);
  }

  #planSpell(draws: Draws): void {
    const { plan, wires } = this.#world;
    const fromMs = draws.between(0, 22_000);
    const untilMs = fromMs + draws.between(100, 8_000);
    const kind = draws.one<Spell['kind']>([
      { name: 'slow', ms: draws.between(1, 1_500) },
      { name: 'cut', bytes: draws.one([1, 3, 100]) },
      { name: 'joined', ms: draws.between(1, 200) },
      { name: 'parted' },
      { name: 'refused' },
    ]);
    const between = this.#link(draws);
    const what = `${between.join(' and ')} are ${kind.name} until ${untilMs.toFixed()}`;
    plan.add(fromMs, what, () => {
      wires.weather.add({ fromMs, untilMs, kind, between });
      this.#trouble(between, untilMs);
    });
  }

  /** Breaks connections that exist then. */
  #planBreak(draws: Draws): void {
    const { plan, wires } = this.#world;
    const [one, other] = this.#link(draws);
    const isSilent = draws.percent(40);
    const what = `connections of ${one} and ${other} ${isSilent ? 'lose their other end' : 'are reset'}`;
    plan.add(draws.between(500, 22_000), what, own => {
      const fromMs = this.#world.nowMs;
      const untilMs = isSilent ? Infinity : fromMs;
      wires.weather.add({ fromMs, untilMs, kind: { name: 'lost' }, between: [one, other] });
      this.#trouble([one, other], this.#world.nowMs);
      for (const socket of [...wires.sockets]) {
        const hosts = [socket.host.name, socket.peer?.host.name];
        if (![one, other].every(name => name === 'any' || hosts.includes(name)) || own.percent(30)) continue;
        if (isSilent) socket.lose();
        else socket.cut();
      }
    });
  }

  /** Notes what goes wrong between a gateway and Redis. */
  #trouble([gateway, other]: readonly [string, string], untilMs: number): void {
    const { troubles, nowMs } = this.#world;
    if (other === 'any' || other === 'redis') troubles.add(gateway, nowMs, untilMs);
  }

  #link(draws: Draws): readonly [string, string] {
    const names = [...this.#world.wires.hosts.values()];
    const gateway = draws.one(this.#world.gateways).name;
    return [gateway, draws.percent(30) ? 'any' : draws.one(names.filter(name => name !== gateway))];
  }
}
