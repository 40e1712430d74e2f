import type { Caller, TokenVerifier } from '../../auth/index.ts';
import type { KnownClient } from '../../limits/index.ts';

/** A valid token, and everything that its validity depended on. */
export interface ValidToken {
  readonly caller: Caller;
  /** The caller as restrictions know it. */
  readonly client: KnownClient;
  readonly token: string;
  /** The field's value as it came: comparing it costs less than hashing the token. */
  readonly authorization: string;
  readonly verifier: TokenVerifier;
  readonly schemes: readonly string[];
}
