import type { TimerClock } from '../../core/index.ts';
import type { Link } from './link.ts';

const BATCH = 15_000;
/** How long a line waits to be sent with others, milliseconds. */
const GATHER_MS = 50;
/** Maximum characters in transit. Further lines are dropped: requests must not wait for the log, and memory is limited. */
const MAX_ON_THE_WAY = 8 * 1024 * 1024;

/** Sends the log lines of a worker to the main thread, which writes them. */
export class LineSender {
  readonly #link: Link;
  #gathered = '';
  #count = 0;
  #onTheWay = 0;

  constructor(link: Link, clock: TimerClock) {
    this.#link = link;
    clock.every(GATHER_MS, () => this.send());
    link.on('linesTaken', size => {
      this.#onTheWay -= size;
    });
  }

  /** Takes one line with its line feed. On every request's path. */
  write(line: string): void {
    this.#gathered += line;
    this.#count++;
    if (this.#gathered.length >= BATCH) this.send();
  }

  send(): void {
    const text = this.#gathered;
    const count = this.#count;
    if (count === 0) return;
    this.#gathered = '';
    this.#count = 0;
    if (this.#onTheWay + text.length > MAX_ON_THE_WAY) {
      this.#link.post('lines', { text: '', count: 0, dropped: count });
      return;
    }
    this.#onTheWay += text.length;
    this.#link.post('lines', { text, count, dropped: 0 });
  }
}
