/** A sender that looks like a proxy in front of the gateway but is not trusted as one. */
export interface UnlistedProxy {
  readonly address: string;
  readonly field: 'X-Forwarded-For' | 'Forwarded';
  /** When it was first seen, milliseconds since the epoch. */
  readonly sinceMs: number;
  /** What this means, as a sentence for the operator. */
  readonly message: string;
}

export interface ProxyListener {
  /** Called at most once an hour for each sender. */
  unlistedProxy(proxy: UnlistedProxy): void;
}
