import type { Claims, Clock, Fact, ProcessPart, RandomBytes, ServiceTopic, Topic } from '../../core/index.ts';
import { RESTRICTED_KINDS, RESTRICTION_REASONS, RecentMap, randomName } from '../../core/index.ts';
import { type AnonymousRevocation, REVOCATION_KINDS, type Revocations } from '../../identity/auth/index.ts';
import type * as limits from '../../limits/index.ts';
import { Restrictions } from '../../limits/index.ts';

/**
 * How long a reset stays on the board: longer than a connected gateway takes to read it. A disconnected one has outdated memories
 * of refusals anyway.
 */
const RESET_MS = 5_000;

/** More than the number of names that are claimed before the first expires. Beyond it, the oldest claim is forgotten. */
const MAX_CLAIMED = 100_000;

/** Makes the restrictions of this thread, which learns those of all gateways of the service and informs them of its own. */
export function sharedRestrictions(
  part: ProcessPart,
  options: Pick<ConstructorParameters<typeof Restrictions>[0], 'clock' | 'listener' | 'networkOf' | 'places'>,
): limits.Restrictions {
  const begun = part.topic('restriction', 'service');
  const lifts = part.topic('lift', 'service');
  /** Clients whose restrictions were announced by another process, by name. */
  const met = part.topic<Fact>('met', 'process');
  const restrictions = new Restrictions({
    ...options,
    others: {
      isMain: part.isMain,
      began: restriction => begun.post(factOf(restriction)),
      lifted: lift => lifts.post(factOfLift(lift)),
      evicted: restriction => begun.withdraw(factOf(restriction).name, restriction.lifts),
      met: restriction => met.post(factOf(restriction)),
    },
  });
  shareRestrictions(restrictions, begun, lifts, met);
  return restrictions;
}

/** Applies restrictions and lifts announced by other threads and gateways. Their order does not matter. */
function shareRestrictions(
  restrictions: limits.Restrictions,
  begun: ServiceTopic,
  lifts: ServiceTopic,
  met: Topic<Fact>,
): void {
  const learn = ({ name, value, forMs, whom }: Fact) => {
    const [kindName, reasonName, digest = '', since = '', network = '', owner = ''] = name.split(':');
    const kind = RESTRICTED_KINDS.find(each => each === kindName);
    const reason = RESTRICTION_REASONS.find(each => each === reasonName);
    if (kind !== undefined && reason !== undefined && digest !== '') {
      const sinceEpochMs = /^\d{1,15}$/.test(since) ? Number(since) : null;
      restrictions.gossip.adopt({
        kind,
        reason,
        digest,
        forMs,
        lifts: value,
        sinceEpochMs,
        network,
        owner,
        whom,
      });
    }
  };
  met.join({ learn, everything: () => [] });
  begun.join({
    learn,
    *everything() {
      for (const restriction of restrictions.gossip.running()) yield factOf(restriction);
    },
  });
  lifts.join({
    learn: ({ name, value, forMs }) => restrictions.gossip.adoptLift({ digest: name, count: value, forMs }),
    *everything() {
      for (const lift of restrictions.gossip.lifted()) yield factOfLift(lift);
    },
  });
}

/**
 * Calls `forget` when an operator has reset counters at another gateway: each forgets all remembered refusals. Returns a function
 * that announces a reset made here, without revealing whose.
 */
export function shareResets(part: ProcessPart, randomBytes: RandomBytes, forget: () => void): () => void {
  const resets = part.topic('reset', 'service');
  // A reset takes effect at once, so threads that join later need not learn of it.
  resets.join({ learn: forget, everything: () => [] });
  return () => resets.post({ name: randomName(randomBytes), value: 0, forMs: RESET_MS });
}

/**
 * Lets the threads of all gateways agree on which one does something that must be done once.
 *
 * @param beyond claims names among processes; `null` if there is only one
 */
export function sharedClaims(part: ProcessPart, clock: Clock, beyond: Claims | null): Claims['claim'] {
  const claimed = new RecentMap<number>(MAX_CLAIMED);
  const ask = part.question('claim', async ({ name, forMs }: Pick<Fact, 'name' | 'forMs'>) => {
    const nowMs = clock.monotonicMs();
    if ((claimed.get(name) ?? 0) > nowMs) return false;
    claimed.set(name, nowMs + forMs);
    return beyond === null || beyond.claim(name, forMs);
  });
  return (name, forMs) => ask({ name, forMs });
}

/** Shares revocations, so that a token refused by any gateway is refused by all of them. */
export function shareRevocations(part: ProcessPart, revocations: Revocations): void {
  const topic = part.topic('revocation', 'service');
  revocations.shareBy({
    announce: revocation => topic.post(factOfRevocation(revocation)),
    withdraw: revocation => topic.withdraw(nameOfRevocation(revocation), revocation.value),
  });
  topic.join({
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
function factOf(restriction: limits.AnonymousRestriction): Fact {
  const { kind, reason, digest, forMs, lifts, sinceEpochMs, network, owner, whom } = restriction;
  const name = [kind, reason, digest, sinceEpochMs ?? '', network, owner].join(':');
  return { name, value: lifts, forMs, whom };
}

function factOfLift({ digest, count, forMs }: limits.Lift): Fact {
  return { name: digest, value: count, forMs };
}

function factOfRevocation(revocation: AnonymousRevocation): Fact {
  return { name: nameOfRevocation(revocation), value: revocation.value, forMs: revocation.forMs };
}

function nameOfRevocation({ kind, issuer, whom }: Omit<AnonymousRevocation, 'value' | 'forMs'>): string {
  return `${kind}:${issuer}:${whom}`;
}
