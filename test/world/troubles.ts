/** Everyone, where a name is asked for. */
const ALL = null;

interface Spell {
  readonly who: string | null;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** What has gone wrong between gateways and what they share: meanwhile, and for a while afterwards, nothing is promised of it. */
export class Troubles {
  readonly #spells: Spell[] = [];
  readonly #lossesMs: number[] = [];
  readonly #stepsMs: number[] = [];

  /** @param who the gateway that it concerns; `null`: all of them */
  add(who: string | typeof ALL, fromMs: number, untilMs: number): void {
    this.#spells.push({ who, fromMs, untilMs });
  }

  /** The clock of Redis has stepped: what lasts a short time may have ended there, and comes back from nobody. */
  step(nowMs: number): void {
    this.#stepsMs.push(nowMs);
  }

  hasStepped(fromMs: number, untilMs: number): boolean {
    return this.#stepsMs.some(atMs => atMs >= fromMs && atMs <= untilMs);
  }

  /** Redis has lost some of what it held. */
  lose(nowMs: number): void {
    this.#lossesMs.push(nowMs);
    this.add(ALL, nowMs, nowMs);
  }

  /** Whether nothing was wrong for this gateway between these moments. */
  isQuiet(gateway: string, fromMs: number, untilMs: number): boolean {
    return !this.#spells.some(
      each => (each.who === ALL || each.who === gateway) && each.fromMs <= untilMs && each.untilMs >= fromMs,
    );
  }

  /** When Redis last lost something, or had its clock step. */
  get shakenMs(): number {
    return Math.max(0, ...this.#lossesMs, ...this.#stepsMs);
  }

  hasLost(fromMs: number, untilMs: number): boolean {
    return this.#lossesMs.some(atMs => atMs > fromMs && atMs <= untilMs);
  }
}
