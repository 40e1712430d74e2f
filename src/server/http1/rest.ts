/** The third sweep is a second away or a bit more, as `Retry-After` says. */
const SWEEPS = 3;

/**
 * The time for which a connection is not read after a request of it was shed. Without it the refusals alone would keep an
 * overloaded process busy: one costs about half of a request that is served (bench/README.md).
 */
export class Rest {
  #sweeps = 0;

  get isOn(): boolean {
    return this.#sweeps > 0;
  }

  begin(): void {
    this.#sweeps = SWEEPS;
  }

  /** Whether it ends now. Ask at each sweep. */
  isOver(): boolean {
    return this.#sweeps > 0 && --this.#sweeps === 0;
  }
}
