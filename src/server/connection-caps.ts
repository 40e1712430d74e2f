import type { CapsModel } from '../config/index.ts';
import { addressKey } from '../http/index.ts';

/** Counts open connections, in all and for each address. */
export class ConnectionCaps {
  readonly #caps: CapsModel;
  readonly #byAddress = new Map<string, number>();
  #open = 0;

  constructor(caps: CapsModel) {
    this.#caps = caps;
  }

  /** False: one cap is met, and nothing was taken. */
  take(address: string): boolean {
    const key = addressKey(address);
    const count = this.#byAddress.get(key) ?? 0;
    if (this.#open >= this.#caps.connections || count >= this.#caps.connectionsPerAddress) return false;
    this.#open++;
    this.#byAddress.set(key, count + 1);
    return true;
  }

  giveBack(address: string): void {
    const key = addressKey(address);
    const count = this.#byAddress.get(key) ?? 0;
    this.#open--;
    if (count <= 1) this.#byAddress.delete(key);
    else this.#byAddress.set(key, count - 1);
  }
}
