/** A revocation as other gateways receive it, without the names of those it concerns. */
export interface AnonymousRevocation {
  readonly kind: RevocationKind;
  /** The digest of the issuer. */
  readonly issuer: string;
  /** The digest of the subject or session; of a push, its mark in decimal; else empty. */
  readonly whom: string;
  /** A whole number. Seconds since the epoch, or the order of a push, or the seconds of a lifetime. The larger wins. */
  readonly value: number;
  /** How long a token that it refuses may still live, in milliseconds. */
  readonly forMs: number;
}

export const REVOCATION_KINDS = [
  /** The subject's tokens issued before `value`. */
  'subject',
  /** The same, learnt with a redeemed code: the mark may be that for everyone. */
  'policy',
  /** The session's tokens issued before `value`. */
  'session',
  /** Every token issued before `whom`, until a push of a higher order says otherwise. */
  'push',
  /** Every token issued before `value`: older revocations were evicted. */
  'everyone',
  /** Tokens live up to `value` seconds. */
  'lifetime',
] as const;

export type RevocationKind = (typeof REVOCATION_KINDS)[number];
