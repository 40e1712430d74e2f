import { isText } from './is-text.ts';

const LENGTH = '2026-01-01T00:00:00.000Z'.length;
const SECOND = '2026-01-01T00:00:00.'.length;
const ZERO = 0x30;
const ZULU = 0x5a;

/** Reads moments such as `2026-01-01T00:00:00.000Z` to milliseconds since the epoch. Most are of the same second as the last. */
export class MomentText {
  #second = '';
  #secondMs = Number.NaN;

  /** NaN for what `Date.parse` does not read. */
  read(bytes: Buffer, from: number, to: number): number {
    const isUsual = to - from === LENGTH && bytes[to - 1] === ZULU;
    const ms = isUsual ? thousandths(bytes, from + SECOND) : -1;
    if (ms >= 0 && isText(this.#second, bytes, from, from + SECOND)) return this.#secondMs + ms;
    const text = bytes.toString('latin1', from, to);
    const momentMs = Date.parse(text);
    if (ms >= 0) {
      this.#second = text.slice(0, SECOND);
      this.#secondMs = momentMs - ms;
    }
    return momentMs;
  }
}

/** The three digits; -1: there are not three. */
function thousandths(bytes: Buffer, at: number): number {
  let value = 0;
  for (let i = at; i < at + 3; i++) {
    const digit = (bytes[i] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}
