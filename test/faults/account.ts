import { expect } from 'vitest';

/**
 * What became of a request, as its client saw it.
 * - `answered`: by the service, whole, and to this very request
 * - a status: by the gateway, with an error object
 * - `cut`: it broke off within its answer
 * - `broken`: the connection or the stream ended before an answer
 * - `unconnected`: nobody took the connection
 *
 * What must never be:
 * - `silent`: nothing came for a minute
 * - `foreign`: an answer that is neither this request's nor the gateway's
 */
export type Outcome = 'answered' | `${number}` | 'cut' | 'broken' | 'unconnected' | 'silent' | 'foreign';

/** A request of the load. */
export class Entry {
  readonly method: string;
  readonly target: string;
  readonly body: string;
  outcome: Outcome | null = null;

  constructor(method: string, target: string) {
    this.method = method;
    this.target = target;
    this.body = method === 'POST' ? `body of ${target}` : '';
  }

  /** What the client got: all of an answer, and whether it was whole. */
  answered(status: number, body: string, isWhole: boolean): void {
    if (!isWhole) this.outcome = status === 0 ? 'broken' : 'cut';
    else if (status === 200) this.outcome = body === answerTo(this) ? 'answered' : 'foreign';
    else this.outcome = isErrorObject(body) ? `${status}` : 'foreign';
  }
}

/** How the service answers a request: so that no other request has the same answer, and some take several pieces. */
export function answerTo({ method, target, body }: Pick<Entry, 'method' | 'target' | 'body'>): string {
  const padding = target.endsWith('0') ? '.'.repeat(40_000) : '';
  return `${method} ${target} ${body}${padding}`;
}

function isErrorObject(body: string): boolean {
  try {
    return typeof JSON.parse(body).code === 'number';
  } catch {
    return false;
  }
}

/** How many requests ended how, by outcome. */
export type Counts = Readonly<Record<string, number>>;

let accounts = 0;

/** Every request of a load, and how often each reached the service. */
export class Account {
  readonly entries: Entry[] = [];
  /** Bytes behind an answer that nobody had asked for. */
  surplus = 0;
  readonly #arrivals = new Map<string, number>();
  readonly #prefix = `/account-${accounts++}-${process.pid}`;

  begin(path = ''): Entry {
    const number = this.entries.length;
    // Every third one is none that may be repeated.
    const entry = new Entry(number % 3 === 0 ? 'POST' : 'GET', `${path}${this.#prefix}/${number}`);
    this.entries.push(entry);
    return entry;
  }

  /** Number of the first request that has not ended. */
  get firstOpen(): number {
    const first = this.entries.findIndex(({ outcome }) => outcome === null);
    return first === -1 ? this.entries.length : first;
  }

  /** For the service: this request has arrived, whole. */
  arrived(target: string): void {
    this.#arrivals.set(target, (this.#arrivals.get(target) ?? 0) + 1);
  }

  /** How many of the requests from `from` up to `to` have ended in which way. */
  counts(from = 0, to = this.entries.length): Counts {
    const counts: Record<string, number> = {};
    for (const { outcome } of this.entries.slice(from, to)) {
      if (outcome !== null) counts[outcome] = (counts[outcome] ?? 0) + 1;
    }
    return counts;
  }

  /** Expects what holds whatever breaks: each request has one end, its own, and reached the service once. */
  expectInOrder(): void {
    const { entries } = this;
    expect(entries.filter(({ outcome }) => [null, 'silent', 'foreign'].includes(outcome))).toEqual([]);
    expect(this.surplus).toBe(0);
    const arrivals = ({ target }: Entry) => this.#arrivals.get(target) ?? 0;
    // A GET may be repeated once, when its connection broke (docs/contract.md, 6.7).
    const repeated = entries.filter(entry => arrivals(entry) > (entry.method === 'GET' ? 2 : 1));
    expect(repeated, 'reached the service too often').toEqual([]);
    expect(
      entries.filter(entry => entry.outcome === 'answered' && arrivals(entry) === 0),
      'answered by nobody',
    ).toEqual([]);
    // A limit or a cap refuses before anything is sent.
    const refused = entries.filter(({ outcome }) => outcome === '429' || outcome === '503');
    expect(
      refused.filter(entry => arrivals(entry) > 0),
      'refused and sent all the same',
    ).toEqual([]);
    const targets = new Set(entries.map(({ target }) => target));
    const unknown = [...this.#arrivals.keys()].filter(target => !targets.has(target));
    expect(unknown, 'sent by nobody').toEqual([]);
  }
}
