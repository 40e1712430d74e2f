import type { Claims, Fact, Facts, RandomBytes } from '../../core/index.ts';
import { RESTRICTED_KINDS, RESTRICTION_REASONS, randomName } from '../../core/index.ts';
import { type AnonymousRevocation, REVOCATION_KINDS, type Revocations } from '../../identity/auth/index.ts';
import type * as limits from '../../limits/index.ts';

/** How the gateways of one service inform each other. Redis is one implementation (`SharedStore`). */
export interface Replication {
  readonly facts: Facts;
  readonly claims: Claims;
  /** Makes the feed that adds up this gateway's offences with those of the others; `null` if all count them together. */
  feed(exceeded: limits.OffencesExceeded): limits.OffenceFeed | null;
}

/** The role of one thread in a process that has several. */
export interface ThreadPart {
  /** Whether this is the main thread. Only that one reports what all threads know, and informs other processes. */
  readonly isMain: boolean;
  /** Identifies the process in Redis, where its threads count as one gateway. */
  readonly replicaId: string;
  /** Joins the threads. `beyond`: the connection to other processes; `null` if there is none. */
  join(beyond: Replication | null): Replication;
  /**
   * Resolves once all threads know what this one has posted so far. If one hangs, resolves after a second nonetheless: a response
   * must not wait for that thread.
   */
  allKnow(): Promise<void>;
}

const RESTRICTION = 'restriction';
/** Topic for the names of clients whose restrictions were announced by another process, for the other threads. */
const MET = 'met';
const LIFT = 'lift';
const RESET = 'reset';
/**
 * How long a reset stays on the board: longer than a gateway takes to read it, unless that is disconnected, when its memory of
 * refusals is outdated anyway.
 */
const RESET_MS = 5_000;
const REVOCATION = 'revocation';

/** Announces a restriction that began here. `shareRestrictions` handles what other gateways announce. */
export function announceRestriction(facts: Facts, restriction: limits.AnonymousRestriction): void {
  facts.post(factOf(restriction));
}

/** Announces the client of a restriction from another process to the other threads. */
export function announceMet(facts: Facts, restriction: limits.AnonymousRestriction): void {
  facts.post(factOf(restriction, MET));
}

/** Withdraws a restriction that was evicted here while still valid. Gateways that know it keep it. */
export function withdrawRestriction(facts: Facts, restriction: limits.AnonymousRestriction): void {
  facts.withdraw(factOf(restriction).name, restriction.lifts);
}

/** Announces a restriction that was lifted here. `shareRestrictions` handles what other gateways announce. */
export function announceLift(facts: Facts, lift: limits.Lift): void {
  facts.post(factOfLift(lift));
}

/** Applies restrictions and lifts announced by other gateways. Their order does not matter. */
export function shareRestrictions(facts: Facts, restrictions: limits.Restrictions): void {
  const learn = ({ name, value: lifts, forMs, whom }: Fact) => {
    const [kindName, reasonName, digest = '', since = '', network = '', owner = ''] = name.split(':');
    const kind = RESTRICTED_KINDS.find(each => each === kindName);
    const reason = RESTRICTION_REASONS.find(each => each === reasonName);
    if (kind !== undefined && reason !== undefined && digest !== '') {
      const sinceEpochMs = /^\d{1,15}$/.test(since) ? Number(since) : null;
      restrictions.adopt({ kind, reason, digest, forMs, lifts, sinceEpochMs, network, owner, whom });
    }
  };
  facts.join(MET, { isOfProcess: true, learn, everything: () => [] });
  facts.join(RESTRICTION, {
    learn,
    *everything() {
      for (const restriction of restrictions.running()) yield factOf(restriction);
    },
  });
  facts.join(LIFT, {
    learn: ({ name, value, forMs }) => restrictions.adoptLift({ digest: name, count: value, forMs }),
    *everything() {
      for (const lift of restrictions.lifted()) yield factOfLift(lift);
    },
  });
}

/** Announces that an operator has reset counters, without revealing whose: each gateway forgets all remembered refusals. */
export function announceReset(facts: Facts, randomBytes: RandomBytes): void {
  facts.post({ name: `${RESET}:${randomName(randomBytes)}`, value: 0, forMs: RESET_MS });
}

/** Registers a callback for resets by any gateway, including this one. */
export function onReset(facts: Facts, forget: () => void): void {
  facts.join(RESET, {
    learn: forget,
    // A reset takes effect at once, so nobody has to learn of it later.
    everything: () => [],
  });
}

/** Shares revocations, so that a token refused by any gateway is refused by all of them. */
export function shareRevocations(facts: Facts, revocations: Revocations): void {
  revocations.shareBy({
    announce: revocation => facts.post(factOfRevocation(revocation)),
    withdraw: revocation => facts.withdraw(nameOfRevocation(revocation), revocation.value),
  });
  facts.join(REVOCATION, {
    learn({ name, value, forMs }) {
      const [kindName, issuer = '', whom = ''] = name.split(':');
      const kind = REVOCATION_KINDS.find(each => each === kindName);
      if (kind !== undefined && issuer !== '') revocations.adopt({ kind, issuer, whom, value, forMs });
    },
    *everything() {
      for (const revocation of revocations.running()) yield factOfRevocation(revocation);
    },
  });
}

/**
 * Makes the fact of a restriction. Of two facts about one restriction, the one that began after more lifts wins, then the one
 * that lasts longer. Gateways of older versions read the name up to the digest.
 */
function factOf(restriction: limits.AnonymousRestriction, topic = RESTRICTION): Fact {
  const { kind, reason, digest, forMs, lifts, sinceEpochMs, network, owner, whom } = restriction;
  const name = [topic, kind, reason, digest, sinceEpochMs ?? '', network, owner].join(':');
  return { name, value: lifts, forMs, whom };
}

function factOfLift({ digest, count, forMs }: limits.Lift): Fact {
  return { name: `${LIFT}:${digest}`, value: count, forMs };
}

function factOfRevocation(revocation: AnonymousRevocation): Fact {
  return { name: nameOfRevocation(revocation), value: revocation.value, forMs: revocation.forMs };
}

function nameOfRevocation({ kind, issuer, whom }: Omit<AnonymousRevocation, 'value' | 'forMs'>): string {
  return `${REVOCATION}:${kind}:${issuer}:${whom}`;
}
