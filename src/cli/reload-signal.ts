/** Notes each SIGHUP. One that comes while the gateway starts is answered afterwards: it may be about files that were read before. */
export class ReloadSignal {
  #reload: (() => void) | null = null;
  #isWanted = false;

  constructor() {
    process.on('SIGHUP', () => {
      if (this.#reload === null) this.#isWanted = true;
      else this.#reload();
    });
  }

  /** Hears of each signal, and at once of those that came before. Call it once. */
  answer(reload: () => void): void {
    this.#reload = reload;
    if (this.#isWanted) reload();
  }
}
