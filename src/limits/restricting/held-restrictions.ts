import { digestOf } from '../../core/index.ts';
import type { AnonymousRestriction, Restricted, RestrictedKind, Restriction } from './restriction.ts';

/** A restriction of a client that this gateway knows by name. */
export interface HeldRestriction {
  readonly restriction: Restriction;
  readonly digest: string;
  /** On the monotonic clock. */
  readonly untilMs: number;
  readonly slackMs: number;
  /** How often the client had been lifted when it began. */
  readonly lifts: number;
}

/** Restrictions of clients that this gateway knows by name, found by that name or by digest. */
export class HeldRestrictions {
  readonly #byDigest = new Map<string, HeldRestriction>();
  readonly #kinds: Readonly<Record<RestrictedKind, Map<string, HeldRestriction>>> = {
    address: new Map(),
    principal: new Map(),
    webhook: new Map(),
  };

  get size(): number {
    return this.#byDigest.size;
  }

  isEmpty(kind: RestrictedKind): boolean {
    return this.#kinds[kind].size === 0;
  }

  get(kind: RestrictedKind, key: string, webhook: string): HeldRestriction | undefined {
    return this.#kinds[kind].get(mapKey(key, webhook));
  }

  withDigest(digest: string): HeldRestriction | undefined {
    return this.#byDigest.get(digest);
  }

  /** May lose or gain restrictions while it is walked through. */
  all(): Iterable<HeldRestriction> {
    return this.#byDigest.values();
  }

  *running(nowMs: number): Generator<AnonymousRestriction> {
    for (const { restriction, digest, untilMs, lifts } of this.#byDigest.values()) {
      const { kind, reason } = restriction;
      if (untilMs > nowMs) yield { kind, digest, reason, forMs: untilMs - nowMs, lifts };
    }
  }

  set(held: HeldRestriction): void {
    const { kind, key, webhook } = held.restriction;
    this.#kinds[kind].set(mapKey(key, webhook), held);
    this.#byDigest.set(held.digest, held);
  }

  delete({ restriction: { kind, key, webhook }, digest }: HeldRestriction): void {
    this.#kinds[kind].delete(mapKey(key, webhook));
    this.#byDigest.delete(digest);
  }
}

/** A restriction ends a little before the moment announced, like a window. */
const SLACK_MS = 20;
const MAX_SLACK = 0.02;

/** Identifies a restriction to all gateways and in the admin API, without naming the client. */
export function digestOfWhom({ kind, key, webhook }: Omit<Restricted, 'reason'>): string {
  return digestOf(`${kind} ${key} ${webhook}`);
}

export function slackOf(forMs: number): number {
  return Math.min(SLACK_MS, forMs * MAX_SLACK);
}

/** The restriction with a later end. */
export function prolonged(held: HeldRestriction, untilMs: number, lifts: number): HeldRestriction {
  const { restriction } = held;
  const untilEpochMs = restriction.untilEpochMs + untilMs - held.untilMs;
  return { ...held, restriction: { ...restriction, untilEpochMs }, untilMs, lifts };
}

export function isOver(held: { readonly untilMs: number; readonly slackMs: number }, nowMs: number): boolean {
  return nowMs >= held.untilMs - held.slackMs;
}

/** Unambiguous, because no address contains a space. */
function mapKey(key: string, webhook: string): string {
  return webhook === '' ? key : `${key} ${webhook}`;
}
