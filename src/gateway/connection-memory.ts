import type { Caller, Verifier } from '../auth/index.ts';

/** A token that was found good, and all that this depended on. */
export interface KnownToken {
  readonly verifier: Verifier;
  readonly schemes: readonly string[];
  /** The field's value as it came, which costs less to compare than the token's hash to make. */
  readonly authorization: string;
  readonly token: string;
  readonly caller: Caller;
}

/** What the gateway remembers from one request of a connection to the next; gone with the connection. */
export class ConnectionMemory {
  knownToken: KnownToken | null = null;
}
