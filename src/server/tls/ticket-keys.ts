import { randomKey } from '../../core/index.ts';

/** Keys that leak open the sessions of TLS 1.2 that were resumed with them, so they change daily. */
const LIFE_MS = 24 * 60 * 60 * 1_000;

/**
 * The keys that seal session tickets. Node holds one set for each listener: a ticket of the one before costs its client a full
 * handshake.
 */
export class TicketKeys {
  /** 48 secret bytes. */
  current = randomKey(48);
  #sinceMs: number;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** Makes new ones where these are old. Whether it did. */
  renew(nowMs: number): boolean {
    if (nowMs - this.#sinceMs < LIFE_MS) return false;
    this.current = randomKey(48);
    this.#sinceMs = nowMs;
    return true;
  }
}
