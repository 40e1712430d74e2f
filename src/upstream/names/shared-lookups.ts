import type { Clock, System } from '../../core/index.ts';
import type { EndpointOptions } from '../transport.ts';
import { type Lookup, type LookupAnswer, systemLookup } from './lookup.ts';
import { REFRESH_MS } from './named-endpoints.ts';
import { srvLookup } from './srv-lookup.ts';

/** A request for the addresses of a name, to the thread that does all lookups. */
export interface LookupQuestion extends EndpointOptions {
  /** True if a connect has failed, so that the addresses may have changed. Otherwise an answer that is still valid will do. */
  readonly refresh: boolean;
}

/** How threads share lookups: one of them does all, as often as a process without threads would. */
export interface Lookups {
  ask(question: LookupQuestion): Promise<LookupAnswer>;
  /** Registers a callback for lookups of a name, by the key of `nameKey`. Returns a function that ends this. */
  follow(key: string, news: () => void): () => void;
}

type LookupSystem = Pick<System, 'clock' | 'network' | 'randomBytes'>;

/** Maximum names remembered. Further ones start over. */
const MAX_NAMES = 1_000;

/** Returns how a name is looked up. */
export function lookupOf({ host, port, lookup }: EndpointOptions, system: LookupSystem): Lookup {
  return lookup === 'srv' ? srvLookup(host, system) : systemLookup({ host, port }, system.network);
}

/** Identifies a name together with the way it is looked up. */
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

/** Looks up names, in the thread that does this for all. */
export class SharedLookups implements Lookups {
  /** Notifies the other threads that this name was looked up. */
  notifyOthers: (key: string) => void = () => {};
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
      if (this.#names.size >= MAX_NAMES) this.#names.clear();
      remembered = new RememberedLookup(lookupOf(question, this.#system), this.#system.clock, () => {
        this.notifyOthers(key);
        this.#followers.tell(key);
      });
      this.#names.set(key, remembered);
    }
    return remembered.ask(question.refresh);
  };
}

/** Looks up one name, and remembers the result. */
class RememberedLookup {
  readonly #lookup: Lookup;
  readonly #clock: Clock;
  readonly #ended: () => void;
  #answer: LookupAnswer | null = null;
  /** Why the last lookup failed; `null` if it did not. */
  #fault: unknown = null;
  #endedAtMs = 0;
  #refreshedAtMs = Number.NEGATIVE_INFINITY;
  #running: Promise<LookupAnswer> | null = null;

  constructor(lookup: Lookup, clock: Clock, ended: () => void) {
    this.#lookup = lookup;
    this.#clock = clock;
    this.#ended = ended;
  }

  async ask(refresh: boolean): Promise<LookupAnswer> {
    if (this.#running !== null) return this.#running;
    const nowMs = this.#clock.monotonicMs();
    const ageMs = nowMs - this.#endedAtMs;
    const isDue = refresh && nowMs - this.#refreshedAtMs >= REFRESH_MS;
    const answer = this.#answer;
    if (!isDue && this.#fault !== null && ageMs < REFRESH_MS) throw this.#fault;
    if (!isDue && this.#fault === null && answer !== null && ageMs < answer.goodForMs)
      return { ...answer, goodForMs: answer.goodForMs - ageMs };
    if (refresh) this.#refreshedAtMs = nowMs;
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
