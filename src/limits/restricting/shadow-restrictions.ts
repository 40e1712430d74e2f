import type { Clock } from '../../core/index.ts';
import { RESTRICTION_REASONS, type Restricted, type RestrictionReason } from './restriction.ts';

export interface ShadowRestrictionsOptions {
  readonly clock: Clock;
  /** Called once for each restriction that would begin. */
  readonly began: (whom: Restricted, forMs: number) => void;
  /** Most held for each reason. Default 100,000. */
  readonly maxPerReason?: number;
}

/** One that would be in force. */
export interface ShadowRestriction {
  readonly reason: RestrictionReason;
  /** A principal or the key of an address. */
  readonly key: string;
  readonly untilEpochMs: number;
}

/** Knows who would be restricted by the rules in shadow. Refuses nobody, and is not shared with other gateways. */
export class ShadowRestrictions {
  readonly #options: ShadowRestrictionsOptions;
  /** When each would end, on the monotonic clock. */
  readonly #held = new Map<RestrictionReason, Map<string, number>>(
    RESTRICTION_REASONS.map(reason => [reason, new Map()]),
  );

  #isEmpty = true;

  constructor(options: ShadowRestrictionsOptions) {
    this.#options = options;
  }

  /** Asked by every request. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Does nothing while one is running: as if it held, its end is set once. */
  restrict(whom: Restricted, forMs: number): void {
    const nowMs = this.#options.clock.monotonicMs();
    const held = this.#of(whom.reason);
    const key = keyOf(whom.key, whom.webhook);
    if ((held.get(key) ?? 0) > nowMs) return;
    const { maxPerReason = 100_000, began } = this.#options;
    // Those that are over leave at the next sweep: to look for them here would cost a walk through all for each offence.
    if (held.size >= maxPerReason && !held.has(key)) return;
    held.set(key, nowMs + forMs);
    this.#isEmpty = false;
    began(whom, forMs);
  }

  /** The reasons for which a request would be refused. `webhook`: '' if it is to none. */
  reasonsFor(address: string, principal: string | null, webhook: string): RestrictionReason[] {
    const nowMs = this.#options.clock.monotonicMs();
    return RESTRICTION_REASONS.filter(reason => {
      const held = this.#of(reason);
      if (held.size === 0) return false;
      const isHeld = (key: string) => (held.get(key) ?? 0) > nowMs;
      if (reason === 'webhook_not_found') return webhook !== '' && isHeld(keyOf(address, webhook));
      return isHeld(address) || (principal !== null && isHeld(principal));
    });
  }

  /** Those that run: at most `max`. */
  list(max: number): ShadowRestriction[] {
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const epochMs = clock.epochMs() - nowMs;
    const found: ShadowRestriction[] = [];
    for (const [reason, held] of this.#held) {
      for (const [who, untilMs] of held) {
        if (found.length === max) return found;
        if (untilMs <= nowMs) continue;
        found.push({ reason, key: clientOf(who, reason), untilEpochMs: Math.floor(epochMs + untilMs) });
      }
    }
    return found;
  }

  /** Forgets those of clients that are never restricted from now on. */
  spare(isOnList: (key: string) => boolean): void {
    for (const [reason, held] of this.#held) {
      for (const who of held.keys()) if (isOnList(clientOf(who, reason))) held.delete(who);
    }
    this.#look();
  }

  /** Forgets those of a rule that is no longer in shadow. */
  end(reason: RestrictionReason): void {
    this.#of(reason).clear();
    this.#look();
  }

  /** Drops expired ones. Call it every second or so: until then, they take room. */
  sweep(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const held of this.#held.values()) {
      for (const [key, untilMs] of held) if (untilMs <= nowMs) held.delete(key);
    }
    this.#look();
  }

  #look(): void {
    this.#isEmpty = [...this.#held.values()].every(held => held.size === 0);
  }

  #of(reason: RestrictionReason): Map<string, number> {
    return this.#held.get(reason) ?? new Map();
  }
}

/** Unambiguous: no address contains a space, and no principal goes with a webhook. */
function keyOf(key: string, webhook: string): string {
  return webhook === '' ? key : `${key} ${webhook}`;
}

/** A webhook follows an address, which contains no space. */
function clientOf(who: string, reason: RestrictionReason): string {
  return reason === 'webhook_not_found' ? (who.split(' ', 1)[0] ?? who) : who;
}
