import type { InvalidReason } from './auth-listener.ts';

/** What a provider tells the gateway unasked. */
export type NoticeKind = 'not_before_push' | 'back_channel_logout';

/**
 * What became of a notice. A closed list, so it can be a metric label.
 *
 * - `accepted`: it applies from now on
 * - `outdated`: it is genuine, but a newer one is known
 * - `refused`: it is not one that the provider sent for this gateway now
 * - `undecided`: its key could not be fetched; the provider may send it again
 * - `put_off`: its sender's address has sent too many bad ones
 */
export type NoticeOutcome = 'accepted' | 'outdated' | 'refused' | 'undecided' | 'put_off';

/** Why a notice is refused. `lifetime`: it would be valid for longer than its id is remembered. */
export type NoticeFlaw =
  | Exclude<InvalidReason, 'scheme' | 'credentials' | 'not_before' | 'signed_out' | 'inactive'>
  /** The body is not what the kind of notice demands. */
  | 'body'
  /** It names another action than this endpoint's. */
  | 'action'
  /** It was taken before. */
  | 'replayed';

export interface NoticeEvent {
  readonly kind: NoticeKind;
  readonly outcome: NoticeOutcome;
  /** Null: it was not refused. */
  readonly flaw: NoticeFlaw | null;
  /** The claim that is missing or of the wrong type; null: the flaw is another. */
  readonly claim: string | null;
  /** Of an accepted push, the mark in seconds since the epoch; else null. */
  readonly notBeforeS: number | null;
}

/** Hears of what providers tell. Learns no id, subject or session. */
export interface NoticeListener {
  noticeReceived(event: NoticeEvent): void;
}
