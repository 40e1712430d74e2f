import { systemClock } from '../../core/index.ts';
import type { ReadCounts } from '../../simulation/index.ts';

const EVERY_MS = 200;

/** Shows the progress of a replay on a terminal. Writes nothing if standard error is not a terminal. */
export class Progress {
  readonly #bytes: number;
  readonly #startedAtMs = systemClock.monotonicMs();
  #shownAtMs = 0;
  #isShown = false;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  show({ bytes, lines }: ReadCounts): void {
    const nowMs = systemClock.monotonicMs();
    if (!process.stderr.isTTY || nowMs - this.#shownAtMs < EVERY_MS) return;
    this.#shownAtMs = nowMs;
    this.#isShown = true;
    const passedS = (nowMs - this.#startedAtMs) / 1_000;
    const share = this.#bytes === 0 ? 1 : Math.min(1, bytes / this.#bytes);
    const leftS = share === 0 ? 0 : Math.ceil((passedS * (1 - share)) / share);
    const rate = Math.round(lines / passedS).toLocaleString('en');
    process.stderr.write(
      `\r\x1b[K${Math.round(share * 100)} %, ${lines.toLocaleString('en')} lines, ${rate} a second, ${leftS} s left`,
    );
  }

  clear(): void {
    if (this.#isShown) process.stderr.write('\r\x1b[K');
  }
}
