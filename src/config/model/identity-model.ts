import type { AccessTokenOptions, BudgetOptions, CacheOptions, KeySetOptions } from '../../auth/index.ts';
import type { ProviderOptions, SignInOptions } from '../../signin/index.ts';

/** How callers are identified and users signed in. */
export interface IdentityModel {
  readonly provider: ProviderOptions;
  readonly signIn: SignInOptions;
  readonly accessTokens: AccessTokenOptions;
  /** Words that stand for a bearer token, in lower case; the upstream always gets `Bearer`. */
  readonly schemes: readonly string[];
  readonly keySet: KeySetOptions;
  readonly cache: CacheOptions;
  /** Tokens issued earlier are refused: seconds since the epoch, 0 for none. */
  readonly notBeforeS: number;
  /** The budget of failed verifications of an address; null: off. */
  readonly failedVerifications: BudgetOptions | null;
}
