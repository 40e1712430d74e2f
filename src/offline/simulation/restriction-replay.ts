import {
  type AddressLimits,
  type Consumption,
  isInvalid,
  type LimitsModel,
  restrictedKey,
} from '../../config/index.ts';
import { type Clock, ownMemory, ownString, silent, thisMachine } from '../../core/index.ts';
import { noteRefusal, Restricting } from '../../gateway/runtime/index.ts';
import type { Decision, Restriction } from '../../limits/index.ts';
import { isSharedRole, NO_OTHERS, Restrictions } from '../../limits/index.ts';
import { networkOfKey } from '../../wire/http/index.ts';
import type { LoggedRequest } from './log/index.ts';

export type ReplayedKind = Restriction['kind'];

/** Maximum offenders counted separately, as in a gateway. */
const MAX_KEYS = 200_000;

/** Restricts senders as a gateway does, in virtual time. */
export class RestrictionReplay {
  readonly #restricting: Restricting;
  readonly #restrictions: Restrictions;
  readonly #sparesCallers: boolean;
  readonly #limits: LimitsModel;

  /** @param counters how many counters of limits its gateway has */
  constructor(limits: LimitsModel, clock: Clock, counters: number) {
    this.#restrictions = new Restrictions({
      clock,
      listener: silent(),
      others: NO_OTHERS,
      networkOf: networkOfKey,
    });
    this.#limits = limits;
    this.#sparesCallers = limits.neverRestrict.callers.size > 0;
    const restrictions = this.#restrictions;
    this.#restricting = new Restricting({
      ...thisMachine,
      clock,
      restrictions,
      memory: ownMemory(thisMachine.randomBytes),
      tally: null,
      maxKeys: Math.min(MAX_KEYS, counters),
    });
    this.#restricting.use(limits);
  }

  /** The kind of restriction that refuses the request; null if none does. */
  refusing(request: LoggedRequest): ReplayedKind | null {
    const { client, facts } = request;
    if (this.#restrictions.size === 0) return null;
    const address = restrictedKey(client, this.#limits);
    const webhook = facts?.webhook ?? '';
    if (this.#refuses('address', address, '')) return 'address';
    if (webhook !== '' && this.#refuses('webhook', address, webhook)) return 'webhook';
    const principal = facts?.isCallerUnknown === true ? null : principalOf(request);
    return principal !== null && this.#refuses('principal', principal, '') ? 'principal' : null;
  }

  /** Records a refusal by limits: its caller may have ignored an earlier one. */
  refused(request: LoggedRequest, consumption: Consumption, decision: Decision): void {
    if (this.#isSpared(request)) return;
    noteRefusal(this.#restricting.ignoredRefusals, consumption, decision, {
      address: restrictedKey(request.client, this.#limits),
      principal: principalOf(request),
      isPreflight: isPreflight(request),
    });
  }

  offended(request: LoggedRequest, reason: 'invalid_requests' | 'webhook_not_found'): void {
    if (this.#isSpared(request)) return;
    const address = restrictedKey(request.client, this.#limits);
    if (reason === 'invalid_requests') this.#restricting.invalidRequests.note(address);
    else this.#restricting.webhookNotFound.note(address, request.facts?.webhook ?? '');
  }

  sweep(): void {
    this.#restrictions.sweep();
  }

  #refuses(kind: ReplayedKind, key: string, webhook: string): boolean {
    return this.#restrictions.isRestricted({ kind, key, webhook });
  }

  /** The log says whether a caller is under `never_restrict`: limits.yaml cannot say, because the log contains pseudonyms. */
  #isSpared({ facts }: LoggedRequest): boolean {
    return this.#sparesCallers && facts?.isSpared === true;
  }
}

/** Returns whether a refusal by limits is an invalid request: only if no other caller could have caused it. */
export function isInvalidRefusal(
  request: LoggedRequest,
  { bucket }: Consumption,
  { role, atOnce }: Decision,
): boolean {
  const isShared = atOnce || (role !== null && isSharedRole(role));
  const ofBucket = isShared ? 'shared' : (bucket?.scope ?? 'user');
  return isInvalid(429, role === 'global' ? 'global' : ofBucket, isPreflight(request));
}

function isPreflight({ facts }: LoggedRequest): boolean {
  return facts?.isPreflight === true;
}

/** The key of a user or bot, which is never the key of an address. Null if the caller is an address. */
function principalOf({ callerClass, caller }: LoggedRequest): string | null {
  return callerClass === 'address' ? null : `caller:${caller}`;
}

/** Maximum senders of each kind counted separately. */
const MAX_SENDERS = 1_000_000;

/**
 * Requests that restrictions refused, and the number of their senders by kind. The sender of a webhook's requests is an address at
 * that webhook.
 */
export class RestrictedSenders {
  #requests = 0;
  readonly #senders: Readonly<Record<ReplayedKind, Set<string>>> = {
    address: new Set(),
    principal: new Set(),
    webhook: new Set(),
  };

  get counts() {
    const { address, principal, webhook } = this.#senders;
    const senders = { addresses: address.size, callers: principal.size, webhooks: webhook.size };
    return { requests: this.#requests, ...senders };
  }

  note(kind: ReplayedKind, request: LoggedRequest, limits: AddressLimits): void {
    this.#requests++;
    const senders = this.#senders[kind];
    const name = senderOf(kind, request, limits);
    if (senders.size < MAX_SENDERS && !senders.has(name)) senders.add(ownString(name));
  }
}

function senderOf(
  kind: ReplayedKind,
  { client, caller, facts }: LoggedRequest,
  limits: AddressLimits,
): string {
  if (kind === 'principal') return `caller:${caller}`;
  const key = restrictedKey(client, limits);
  return kind === 'address' ? key : `${key} ${facts?.webhook ?? ''}`;
}
