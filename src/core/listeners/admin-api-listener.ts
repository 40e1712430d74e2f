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

/** Something that an operator changed by the admin API. */
export interface AdminChange {
  readonly what: 'restriction_added' | 'restriction_lifted' | 'buckets_reset';
  /** The client of the gateway that it is about: an address, or the pseudonym of a caller; null: not known here, or all clients. */
  readonly client: string | null;
  /** The one bucket that it is about; null: it is about more, or about none. */
  readonly bucket: string | null;
  /** Where the change came from: the address of the peer. */
  readonly by: string;
}

/** What of the admin listener a request is for. */
export type AdminEndpoint = 'metrics' | 'status' | 'health' | 'api' | 'notices' | 'other';

/** Hears what the admin API refuses and changes, and what the admin listener fails to answer. Must be quick and must not throw. */
export interface AdminApiListener {
  /** `address`: of the peer. */
  refused(refusal: AdminRefusal, address: string): void;
  changed(change: AdminChange): void;
  /** A fault of the gateway: the request was answered 500. */
  failed(endpoint: AdminEndpoint, error: unknown): void;
}
