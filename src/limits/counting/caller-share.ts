import { StringHash } from './string-hash.ts';

const HASHES = 2 ** 32;

/**
 * A share of all callers that is the same in every gateway and after a restart, and within any larger share. Each name picks
 * other callers, so that it is not always the same ones who meet what is new.
 */
export class CallerShare {
  readonly percent: number;
  readonly #hash: StringHash;
  readonly #end: number;

  /** @param percent 1 to 100 */
  constructor(name: string, percent: number) {
    const ofName = new StringHash(0, 0);
    ofName.read(name);
    this.percent = percent;
    this.#hash = new StringHash(ofName.low, ofName.high);
    this.#end = (percent / 100) * HASHES;
  }

  includes(caller: string): boolean {
    this.#hash.read(caller);
    return this.#hash.low >>> 0 < this.#end;
  }
}
