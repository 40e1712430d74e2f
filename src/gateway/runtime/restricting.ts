import type { Consumption, LimitsModel, Listed } from '../../config/index.ts';
import type { Clock, Owner, RandomBytes, TableMemory } from '../../core/index.ts';
import { NO_OWNERS, RecentMap } from '../../core/index.ts';
import { isPrincipal } from '../../identity/auth/index.ts';
import type * as limits from '../../limits/index.ts';
import { AddressOffences, IgnoredRefusals, OTHER_PARTS, unitsTaken } from '../../limits/index.ts';
import { addressOfKey, isEmbedded, isListed, ownersOf } from '../../wire/http/index.ts';

interface RestrictingDependencies {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly restrictions: limits.Restrictions;
  /** Adds up offences across all gateways; `null` if this process counts alone. */
  readonly tally: limits.OffenceTally | null;
  /** Where offences are counted. */
  readonly memory: TableMemory;
  /** Maximum keys counted for each offence. */
  readonly maxKeys: number;
}

/** Counts offences, and restricts clients that commit too many. Outlives a reload. */
export class Restricting {
  readonly invalidRequests: AddressOffences;
  readonly webhookNotFound: AddressOffences;
  readonly ignoredRefusals: IgnoredRefusals;
  readonly #restrictions: limits.Restrictions;

  constructor(dependencies: RestrictingDependencies) {
    const { clock, randomBytes, restrictions, tally, memory, maxKeys } = dependencies;
    this.#restrictions = restrictions;
    const counting = { clock, randomBytes, memory, maxKeys, ownersOf: ownersOfCaller, tally };
    this.invalidRequests = new AddressOffences(restrictions, 'invalid_requests', counting);
    this.webhookNotFound = new AddressOffences(restrictions, 'webhook_not_found', counting);
    this.ignoredRefusals = new IgnoredRefusals(restrictions, counting);
  }

  use(model: LimitsModel): void {
    this.invalidRequests.use(model.invalidRequests);
    this.webhookNotFound.use(model.webhookNotFound);
    this.ignoredRefusals.use(model.ignoredRefusals);
    this.#restrictions.neverRestrict(key => isNeverRestricted(key, model), namedIn(model));
  }
}

/** The owners of a caller: those of the address for the key of an address, none for a principal. */
export function ownersOfCaller(caller: string): readonly Owner[] {
  return isPrincipal(caller) ? NO_OWNERS : ownersOf(caller);
}

/** @param key a principal, or the key of an address */
function isNeverRestricted(key: string, { neverRestrict: { addresses, callers } }: LimitsModel): boolean {
  return isPrincipal(key) ? callers.has(key) : addresses.has(addressOfKey(key));
}

/** The clients that the list names individually, rather than by a network. */
function* namedIn({
  neverRestrict: { addresses, callers },
}: LimitsModel): Generator<limits.RestrictedClient> {
  for (const key of addresses.keys) yield { kind: 'address', key };
  for (const key of callers) yield { kind: 'principal', key };
}

/** Addresses remembered: looking one up takes a step for each network listed. */
const MAX_ADDRESSES = 20_000;

/** The clients that are refused as long as limits.yaml lists them, except those that are also under `never_restrict`. */
export class Blocked {
  readonly #blocked: Listed;
  readonly #spared: Listed;
  readonly #known = new RecentMap<boolean>(MAX_ADDRESSES);

  constructor(blocked: Listed, spared: Listed) {
    this.#blocked = blocked;
    this.#spared = spared;
  }

  /** @param key the key of the address */
  hasAddress(key: string, address: string): boolean {
    // The lists may contain one IPv6 address that embeds an IPv4 address, without the others of its key.
    const name = isEmbedded(address, key) ? address : key;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const found =
      isListed(address, key, this.#blocked.addresses) && !this.#spared.addresses.has(addressOfKey(name));
    this.#known.set(name, found);
    return found;
  }

  hasCaller(principal: string): boolean {
    return this.#blocked.callers.has(principal) && !this.#spared.callers.has(principal);
  }
}

/** The sender of a request that a limit refused. */
export interface RefusedSender {
  readonly address: string;
  /** The caller; `null` if only the address is known. */
  readonly principal: string | null;
  readonly isPreflight: boolean;
}

/**
 * Records a refusal, to detect whether the caller ignores it. Skips refusals that others caused, and preflights, which browsers
 * send on their own.
 */
export function noteRefusal(
  ignoredRefusals: IgnoredRefusals,
  { set, main, cost }: Consumption,
  { by, atOnce, sharedKey, otherParts, retryAfterMs }: limits.Decision,
  { address, principal, isPreflight }: RefusedSender,
): void {
  // With `otherParts`, `by` may be the limit of a resource: the counter that refused is the caller's own for its further values.
  const refused = atOnce ? set.concurrent : by;
  if (sharedKey || refused === null || isPreflight) return;
  const part = otherParts ? OTHER_PARTS : main;
  ignoredRefusals.note({
    address,
    principal,
    limit: refused,
    main: part,
    cost: atOnce ? 1 : unitsTaken(refused, cost),
    waitMs: retryAfterMs,
  });
}
