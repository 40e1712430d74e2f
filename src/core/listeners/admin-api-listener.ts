/** Why the admin listener turned a request away. */
export type AdminRefusal =
  /** It brought a wrong token. */
  | 'wrong_token'
  /** Its address brought too many wrong tokens of late. */
  | 'too_many_tokens'
  /** It needs a token and brought none, or none is configured. */
  | 'no_token'
  /** A page of another origin sent it, or a name led it here that is not of this machine. */
  | 'foreign_origin';

/** Hears what the admin API refuses and changes. Must be quick and must not throw. */
export interface AdminApiListener {
  /** `address`: of the peer. */
  refused(refusal: AdminRefusal, address: string): void;
}
