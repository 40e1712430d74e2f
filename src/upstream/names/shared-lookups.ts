import type { Clock, System } from '../../core/index.ts';
import type { EndpointOptions } from '../transport.ts';
import { type Lookup, type LookupAnswer, systemLookup } from './lookup.ts';
import { REFRESH_MS } from './named-endpoints.ts';
import { srvLookup } from './srv-lookup.ts';

/** Asks for the addresses of a name, by the thread that looks names up for all. */
export interface LookupQuestion extends EndpointOptions {
  /** A connect has failed: the addresses may have changed. Otherwise an answer that is still good will do. */
  readonly anew: boolean;
}

/** How threads share lookups: one of them looks names up, as often as a process without threads would. */
export interface Lookups {
  ask(question: LookupQuestion): Promise<LookupAnswer>;
  /** Calls back when a name has been looked up, by the key of `nameKey`. Returns what ends that. */
  follow(key: string, news: () => void): () => void;
}

type LookupSystem = Pick<System, 'clock' | 'network' | 'randomBytes'>;

/** Names that are remembered. Further ones begin again. */
const MOST_NAMES = 1_000;

/** Returns how a name is looked up. */
export function lookupOf({ host, port, lookup }: EndpointOptions, system: LookupSystem): Lookup {
  return lookup === 'srv' ? srvLookup(host, system) : systemLookup({ host, port }, system.network);
}

/** Tells names apart, and ways of looking them up. */
export function nameKey({ host, port, lookup }: EndpointOptions): string {
  return `${lookup} ${host} ${port}`;
}

/** Callbacks for news, by key. */
export class Followers {
  readonly #byKey = new Map<string, Set<() => void>>();

  readonly follow = (key: string, news: () => void): (() => void) => {
    const all = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, all.add(news));
    return () => {
      all.delete(news);
      if (all.size === 0) this.#byKey.delete(key);
    };
  };

  tell(key: string): void {
    for (const news of [...(this.#byKey.get(key) ?? [])]) news();
  }
}

/** Looks names up, in the thread that does so for all. */
export class SharedLookups implements Lookups {
  /** Tells the other threads that this name has been looked up. */
  tellOthers: (key: string) => void = () => {};
  readonly #system: LookupSystem;
  readonly #names = new Map<string, RememberedLookup>();
  readonly #followers = new Followers();

  constructor(system: LookupSystem) {
    this.#system = system;
  }

  readonly follow = this.#followers.follow;

  readonly ask = (question: LookupQuestion): Promise<LookupAnswer> => {
    const key = nameKey(question);
    let remembered = this.#names.get(key);
    if (remembered === undefined) {
      if (this.#names.size >= MOST_NAMES) this.#names.clear();
      remembered = new RememberedLookup(lookupOf(question, this.#system), this.#system.clock, () => {
        this.tellOthers(key);
        this.#followers.tell(key);
      });
      this.#names.set(key, remembered);
    }
    return remembered.ask(question.anew);
  };
}

/** Looks one name up, and remembers what came of it. */
class RememberedLookup {
  readonly #lookup: Lookup;
  readonly #clock: Clock;
  readonly #ended: () => void;
  #answer: LookupAnswer | null = null;
  /** Why the last lookup failed; `null` if it did not. */
  #fault: unknown = null;
  #endedAtMs = 0;
  #askedAnewAtMs = Number.NEGATIVE_INFINITY;
  #running: Promise<LookupAnswer> | null = null;

  constructor(lookup: Lookup, clock: Clock, ended: () => void) {
    this.#lookup = lookup;
    this.#clock = clock;
    this.#ended = ended;
  }

  async ask(anew: boolean): Promise<LookupAnswer> {
    if (this.#running !== null) return this.#running;
    const nowMs = this.#clock.monotonicMs();
    const ageMs = nowMs - this.#endedAtMs;
    const isDue = anew && nowMs - this.#askedAnewAtMs >= REFRESH_MS;
    const answer = this.#answer;
    if (!isDue && this.#fault !== null && ageMs < REFRESH_MS) throw this.#fault;
    if (!isDue && this.#fault === null && answer !== null && ageMs < answer.goodForMs)
      return { ...answer, goodForMs: answer.goodForMs - ageMs };
    if (anew) this.#askedAnewAtMs = nowMs;
    this.#running = this.#run();
    return this.#running;
  }

  async #run(): Promise<LookupAnswer> {
    try {
      this.#answer = await this.#lookup();
      this.#fault = null;
      return this.#answer;
    } catch (fault) {
      this.#fault = fault;
      throw fault;
    } finally {
      this.#running = null;
      this.#endedAtMs = this.#clock.monotonicMs();
      this.#ended();
    }
  }
}
