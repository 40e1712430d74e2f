import { expect } from 'vitest';

/** What clients send: requests over HTTP/1.1 and HTTP/2, calls of gRPC, messages over WebSockets. */
export const KINDS = ['request', 'call', 'message'] as const;
export type Kind = (typeof KINDS)[number];

/**
 * What became of a request, a call or a message, as its client saw it.
 * - `answered`: by the service, whole, and to this very request; of a call, each of its messages
 * - a status: by the gateway, with an error object, or of gRPC by its name
 * - `cut`: it broke off within its answer
 * - `broken`: the connection or the stream ended before an answer
 * - `unconnected`: nobody took the connection
 *
 * What must never be:
 * - `silent`: nothing came for a minute
 * - `foreign`: an answer that is neither this request's nor the gateway's, or not all of it where that is said
 */
export type Outcome =
  | 'answered'
  | `${number}`
  | 'UNAVAILABLE'
  | 'DEADLINE_EXCEEDED'
  | 'cut'
  | 'broken'
  | 'unconnected'
  | 'silent'
  | 'foreign';

/** A request, call or message of the load. */
export class Entry {
  readonly kind: Kind;
  readonly method: string;
  /** Tells it from all others. Messages of a call have a number behind it. */
  readonly target: string;
  readonly body: string;
  outcome: Outcome | null = null;

  constructor(kind: Kind, number: number, prefix: string) {
    this.kind = kind;
    // Every third request is none that may be repeated.
    this.method = kind === 'request' && number % 3 !== 0 ? 'GET' : 'POST';
    this.target = `${prefix}/${number}`;
    this.body = kind === 'request' && this.method === 'POST' ? `body of ${this.target}` : '';
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

/** How the service answers a message, of a call or over a WebSocket. */
export function echoOf(text: string): string {
  return answerTo({ method: 'echo', target: text, body: '' });
}

function isErrorObject(body: string): boolean {
  try {
    return typeof JSON.parse(body).code === 'number';
  } catch {
    return false;
  }
}

/** How many ended how, by outcome. */
export type Counts = Readonly<Record<string, number>>;

let accounts = 0;

/** Every request, call and message of a load, and how often each reached the service. */
export class Account {
  readonly entries: Entry[] = [];
  /** Bytes behind an answer that nobody had asked for, and messages of calls that reached the service out of turn. */
  surplus = 0;
  readonly #arrivals = new Map<string, number>();
  readonly #prefix = `/account-${accounts++}-${process.pid}`;

  begin(kind: Kind, path = ''): Entry {
    const entry = new Entry(kind, this.entries.length, `${path}${this.#prefix}`);
    this.entries.push(entry);
    return entry;
  }

  /** Number of the first request that has not ended. */
  get firstOpen(): number {
    const first = this.entries.findIndex(({ outcome }) => outcome === null);
    return first === -1 ? this.entries.length : first;
  }

  /** For the service: this request or message has arrived, whole, or the first message of this call. */
  arrived(target: string): void {
    this.#arrivals.set(target, (this.#arrivals.get(target) ?? 0) + 1);
  }

  /** How many of those from `from` up to `to` have ended in which way. Default: of all kinds. */
  counts(from = 0, to = this.entries.length, kinds: readonly Kind[] = KINDS): Counts {
    const counts: Record<string, number> = {};
    for (const { outcome, kind } of this.entries.slice(from, to)) {
      if (outcome !== null && kinds.includes(kind)) counts[outcome] = (counts[outcome] ?? 0) + 1;
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
