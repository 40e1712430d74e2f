import type { Snapshot } from '../../config/index.ts';
import type { Transport, TransportMap, Transports } from '../../upstream/index.ts';
import { Identity, type IdentityDependencies } from './identity.ts';

interface GenerationsDependencies {
  readonly identity: IdentityDependencies;
  readonly transports: Transports;
  /** Called when another generation comes into use, to update everything else that depends on the configuration. */
  readonly serve: (generation: Generation) => void;
  /** Called when a valid generation starts waiting for the keys of its provider. */
  readonly wait: (generation: Generation) => void;
}

/**
 * Replaces one generation with the next, which inherits everything that did not change: connections, keys and verified tokens.
 *
 * A generation with another provider waits until it has that provider's keys, without which it would turn all callers away; until
 * then the current one stays in use. If the current one has no keys either, there is nothing to lose, and the next does not wait.
 */
export class Generations {
  readonly #dependencies: GenerationsDependencies;
  #current: Generation;
  #next: Generation | null = null;

  constructor(first: Snapshot, dependencies: GenerationsDependencies) {
    this.#dependencies = dependencies;
    const { identity } = first;
    this.#current = {
      snapshot: first,
      identity: identity === null ? null : new Identity(identity, dependencies.identity),
      transports: dependencies.transports.plan(first.upstreams),
    };
    dependencies.transports.use(this.#current.transports);
    this.#current.identity?.serve();
  }

  get current(): Generation {
    return this.#current;
  }

  start(): void {
    this.#current.identity?.start();
  }

  /** Replaces the current configuration, and any waiting one. If it throws, nothing has changed. */
  take(snapshot: Snapshot): void {
    const before = this.#current.identity;
    const identity =
      snapshot.identity === null
        ? null
        : new Identity(snapshot.identity, this.#dependencies.identity, before);
    const next = { snapshot, identity, transports: this.#dependencies.transports.plan(snapshot.upstreams) };
    this.#next?.identity?.retire(before);
    this.#next = next;
    const mayServe = isReady(next) || !isReady(this.#current);
    identity?.start(() => {
      if (this.#next === next) this.#serve(next);
    });
    if (mayServe) this.#serve(next);
    else this.#dependencies.wait(next);
  }

  stop(): void {
    this.#next?.identity?.stop();
    this.#current.identity?.stop();
    this.#next = null;
  }

  #serve(generation: Generation): void {
    const before = this.#current;
    this.#current = generation;
    this.#next = null;
    this.#dependencies.transports.use(generation.transports);
    generation.identity?.serve();
    this.#dependencies.serve(generation);
    before.identity?.retire(generation.identity);
  }
}

/** One snapshot and its live parts. Replaced as a whole; an exchange keeps its own to the end. */
export interface Generation {
  readonly snapshot: Snapshot;
  /** Identifies callers; `null` if no identity provider is configured, so that every route has `authentication: none`. */
  readonly identity: Identity | null;
  readonly transports: TransportMap;
}

export type RequestIdentity = Pick<
  Identity,
  'verifier' | 'apiKeys' | 'signIn' | 'notices' | 'endSession' | 'introspect' | 'proofs'
>;

export interface RequestGeneration extends Omit<Generation, 'identity' | 'transports'> {
  readonly identity: RequestIdentity | null;
  /** Transports by the names of their upstreams. */
  readonly transports: ReadonlyMap<string, { readonly part: { readonly transport: Transport } }>;
}

/** Whether it can identify callers: once it has a key set, or at once if no token is required. */
export function isReady({ identity }: Generation): boolean {
  return identity === null || identity.ready;
}
