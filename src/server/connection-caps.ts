import type { CapsModel } from '../config/index.ts';
import { type AddressSet, addressKey } from '../http/index.ts';

/** Counts open connections, in all and for each address that is not a trusted proxy: behind those are many clients. */
export class ConnectionCaps {
  #caps: CapsModel;
  #trusted: AddressSet;
  readonly #byAddress = new Map<string, number>();
  #open = 0;

  constructor(caps: CapsModel, trusted: AddressSet) {
    this.#caps = caps;
    this.#trusted = trusted;
  }

  /** These from now on; what is open stays, and is counted. */
  use(caps: CapsModel, trusted: AddressSet): void {
    this.#caps = caps;
    this.#trusted = trusted;
  }

  /** False: one cap is met, and nothing was taken. */
  take(address: string): boolean {
    const key = addressKey(address);
    const count = this.#byAddress.get(key) ?? 0;
    const most = this.#trusted.has(address) ? this.#caps.connections : this.#caps.connectionsPerAddress;
    if (this.#open >= this.#caps.connections || count >= most) return false;
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
