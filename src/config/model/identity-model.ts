import type { AccessTokenOptions, BudgetOptions, CacheOptions, KeySetOptions } from '../../auth/index.ts';
import { NOTICE_KINDS, type NoticeKind } from '../../core/index.ts';
import type {
  ClientOptions,
  IntrospectionOptions,
  ProviderOptions,
  SignInOptions,
} from '../../signin/index.ts';

/** How callers are identified and users signed in. */
export interface IdentityModel {
  /** At least one, in the order of the file. At most one signs users in. */
  readonly providers: readonly ProviderModel[];
  /** Words that stand for a bearer token, in lower case; the upstream always gets `Bearer`. */
  readonly schemes: readonly string[];
  /** The budget of failed verifications of an address, whatever the issuer of its tokens; null: off. */
  readonly failedVerifications: BudgetOptions | null;
}

/** A provider, and what holds for its tokens. */
export interface ProviderModel {
  /** Null: it is the only one possible, `identity_provider`. */
  readonly name: string | null;
  /** Its name in metrics and logs; null: they say nothing of providers, since there is only one. */
  readonly label: string | null;
  readonly provider: ProviderOptions;
  /** The gateway as its client; null: the gateway is no client of it and only verifies its tokens. */
  readonly client: ClientOptions | null;
  /** How the gateway asks it about tokens; null: it cannot, since it does not authenticate there. */
  readonly introspection: IntrospectionOptions | null;
  /** Null: its tokens are only checked. */
  readonly signIn: SignInOptions | null;
  readonly notices: NoticePlaces;
  readonly accessTokens: AccessTokenOptions;
  readonly keySet: KeySetOptions;
  readonly cache: CacheOptions;
  /** Tokens issued earlier are refused: seconds since the epoch, 0 for none. */
  readonly notBeforeS: number;
}

/** The provider that signs users in; null: none does. */
export function signInProvider(
  identity: IdentityModel | null,
): (ProviderModel & { readonly signIn: SignInOptions }) | null {
  for (const each of identity?.providers ?? [])
    if (each.signIn !== null) return { ...each, signIn: each.signIn };
  return null;
}

/** Whether any caller can be a bot. */
export function hasBots({ providers }: IdentityModel): boolean {
  return providers.some(({ accessTokens }) => accessTokens.bots !== null);
}

/** Where a provider's notices are taken, by their kind: on the admin listener, or on a public path. `null` if they are not. */
export type NoticePlaces = Readonly<Record<NoticeKind, string | null>>;

/** Lists the kinds of notices that are taken anywhere. */
export function noticeKindsIn(...all: readonly NoticePlaces[]): readonly NoticeKind[] {
  return NOTICE_KINDS.filter(kind => all.some(places => places[kind] !== null));
}
