import { type Clock, type ProcessPart, States, type System } from '../../core/index.ts';
import type { EndpointOptions } from '../transport.ts';
import { type Lookup, type LookupAnswer, systemLookup } from './lookup.ts';
import { REFRESH_MS } from './named-endpoints.ts';
import { srvLookup } from './srv-lookup.ts';

type LookupSystem = Pick<System, 'clock' | 'network'>;

/** Maximum names remembered. If there are more, remembering starts again from none. */
const MAX_NAMES = 1_000;

/** Returns how a name is looked up. */
function lookupOf({ host, port, lookup }: EndpointOptions, { clock, network }: LookupSystem): Lookup {
  return lookup === 'srv' ? srvLookup(host, { clock, network }) : systemLookup({ host, port }, network);
}

/** Identifies a name together with the way it is looked up. */
function nameKey({ host, port, lookup }: EndpointOptions): string {
  return `${lookup} ${host} ${port}`;
}

/** Looks up names in the main thread, for all threads. */
export class Lookups {
  /** Asks the main thread for the addresses of a name. */
  readonly ask: (endpoint: EndpointOptions) => Promise<LookupAnswer>;
  readonly #system: LookupSystem;
  /** Whether other threads ask as well. If not, each question is a lookup: an answer must not be a second old needlessly. */
  readonly #isShared: boolean;
  readonly #names = new Map<string, Lookup>();
  /** When each name was last looked up. */
  readonly #done: States<number>;

  constructor(part: ProcessPart, system: LookupSystem) {
    this.#system = system;
    this.#isShared = part.memory.isShared;
    this.#done = new States(part, 'lookups');
    this.ask = part.question('look up', endpoint => this.#lookupOf(endpoint)());
  }

  /** Registers a callback for lookups of a name by any thread. Returns a function that ends this. */
  follow(endpoint: EndpointOptions, news: () => void): () => void {
    return this.#done.follow(nameKey(endpoint), atMs => {
      if (atMs !== null) news();
    });
  }

  #lookupOf(endpoint: EndpointOptions): Lookup {
    const key = nameKey(endpoint);
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    if (this.#names.size >= MAX_NAMES) this.#forget();
    const { clock } = this.#system;
    const own = lookupOf(endpoint, this.#system);
    const done = () => this.#done.tell(key, clock.monotonicMs());
    const lookup = this.#isShared ? remembered(own, clock, done) : own;
    this.#names.set(key, lookup);
    return lookup;
  }

  #forget(): void {
    for (const key of this.#names.keys()) this.#done.tell(key, null);
    this.#names.clear();
  }
}

/** Returns a lookup that gives threads that ask during a lookup, or up to a second after it, the same result. */
function remembered(lookup: Lookup, clock: Clock, ended: () => void): Lookup {
  let last: Promise<LookupAnswer> | null = null;
  let endedAtMs = 0;
  return () => {
    if (last !== null && clock.monotonicMs() - endedAtMs < REFRESH_MS) return last;
    endedAtMs = Number.POSITIVE_INFINITY;
    last = lookup().finally(() => {
      endedAtMs = clock.monotonicMs();
      ended();
    });
    return last;
  };
}
