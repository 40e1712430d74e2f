import type { Clock, System } from '../../core/index.ts';
import type { EndpointOptions } from '../transport.ts';
import { type Lookup, type LookupAnswer, systemLookup } from './lookup.ts';
import { REFRESH_MS } from './named-endpoints.ts';
import { srvLookup } from './srv-lookup.ts';

/** How threads share lookups: one of them does all, as often as a process without threads would. */
export interface Lookups {
  /** Asks the thread that does all lookups for the addresses of a name. */
  ask(endpoint: EndpointOptions): Promise<LookupAnswer>;
  /** Registers a callback for lookups of a name, by the key of `nameKey`. Returns a function that ends this. */
  follow(key: string, news: () => void): () => void;
}

type LookupSystem = Pick<System, 'clock' | 'network'>;

/** Maximum names remembered. Further ones start over. */
const MAX_NAMES = 1_000;

/** Returns how a name is looked up. */
export function lookupOf({ host, port, lookup }: EndpointOptions, { clock, network }: LookupSystem): Lookup {
  return lookup === 'srv' ? srvLookup(host, { clock, network }) : systemLookup({ host, port }, network);
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

  readonly ask = (endpoint: EndpointOptions): Promise<LookupAnswer> => {
    const key = nameKey(endpoint);
    let remembered = this.#names.get(key);
    if (remembered === undefined) {
      if (this.#names.size >= MAX_NAMES) this.#names.clear();
      remembered = new RememberedLookup(lookupOf(endpoint, this.#system), this.#system.clock, () => {
        this.notifyOthers(key);
        this.#followers.tell(key);
      });
      this.#names.set(key, remembered);
    }
    return remembered.ask();
  };
}

/** Looks up one name. Threads that ask during a lookup, or up to a second after it, get its result. */
class RememberedLookup {
  readonly #lookup: Lookup;
  readonly #clock: Clock;
  readonly #ended: () => void;
  #last: Promise<LookupAnswer> | null = null;
  #endedAtMs = Number.POSITIVE_INFINITY;

  constructor(lookup: Lookup, clock: Clock, ended: () => void) {
    this.#lookup = lookup;
    this.#clock = clock;
    this.#ended = ended;
  }

  ask(): Promise<LookupAnswer> {
    if (this.#last !== null && this.#clock.monotonicMs() - this.#endedAtMs < REFRESH_MS) return this.#last;
    this.#endedAtMs = Number.POSITIVE_INFINITY;
    this.#last = this.#lookup().finally(() => {
      this.#endedAtMs = this.#clock.monotonicMs();
      this.#ended();
    });
    return this.#last;
  }
}
