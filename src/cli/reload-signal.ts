/** Records each SIGHUP. One that arrives during startup is handled afterwards: the files may have changed after they were read. */
export class ReloadSignal {
  #reload: (() => void) | null = null;
  #isWanted = false;

  constructor() {
    process.on('SIGHUP', () => {
      if (this.#reload === null) this.#isWanted = true;
      else this.#reload();
    });
  }

  /** Registers a callback for each signal, called at once if there were earlier ones. Call it once. */
  answer(reload: () => void): void {
    this.#reload = reload;
    if (this.#isWanted) reload();
  }
}
