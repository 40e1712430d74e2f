import { ownString } from '../core/index.ts';
import { addressKey } from '../http/index.ts';
import type { LoggedRequest } from './log/index.ts';
import type { RestrictedKind } from './restriction-replay.ts';

/** Senders told apart, of each kind. */
const MAX_SENDERS = 1_000_000;

/** How many requests restrictions refused, and whose. */
export interface RestrictedCounts {
  readonly requests: number;
  readonly addresses: number;
  readonly callers: number;
  /** An address on one webhook. */
  readonly webhooks: number;
}

/** Counts the requests that restrictions refuse, and their senders. */
export class RestrictedSenders {
  #requests = 0;
  readonly #senders: Readonly<Record<RestrictedKind, Set<string>>> = {
    address: new Set(),
    principal: new Set(),
    webhook: new Set(),
  };

  get counts(): RestrictedCounts {
    const { address, principal, webhook } = this.#senders;
    return {
      requests: this.#requests,
      addresses: address.size,
      callers: principal.size,
      webhooks: webhook.size,
    };
  }

  note(kind: RestrictedKind, request: LoggedRequest): void {
    this.#requests++;
    const senders = this.#senders[kind];
    const name = senderOf(kind, request);
    if (senders.size < MAX_SENDERS && !senders.has(name)) senders.add(ownString(name));
  }
}

function senderOf(kind: RestrictedKind, { client, callerClass, caller, facts }: LoggedRequest): string {
  if (kind === 'principal') return `${callerClass}:${caller}`;
  return kind === 'address' ? addressKey(client) : `${addressKey(client)} ${facts?.webhook ?? ''}`;
}
