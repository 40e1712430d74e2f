import { type ClassName, NOTICE_KINDS, type NoticeKind } from '../../core/index.ts';
import type {
  AccessTokenOptions,
  ApiKeyOptions,
  BudgetOptions,
  CacheOptions,
  ClassRule,
  KeySetOptions,
  ProofOptions,
} from '../../identity/auth/index.ts';
import type {
  ClientOptions,
  IntrospectionOptions,
  ProviderOptions,
  SignInOptions,
} from '../../identity/signin/index.ts';

/** How callers are identified and users signed in. */
export interface IdentityModel {
  /** In the order of the file; empty if there are only API keys. At most one signs users in. */
  readonly providers: readonly ProviderModel[];
  /** The API keys; `null` if there are none. */
  readonly apiKeys: ApiKeysModel | null;
  /** Scheme names accepted for a bearer token, in lower case; the upstream always gets `Bearer`. */
  readonly schemes: readonly string[];
  /** The longest accepted token, in characters. */
  readonly maxTokenLength: number;
  /** The field in which trusted proxies report the certificates that tokens may be bound to; `null` if they do not. */
  readonly certificateField: string | null;
  /** How tokens that are bound to a key are accepted; `null` if none are. */
  readonly dpop: ProofOptions | null;
  /** The budget of failed verifications per address, for tokens of any issuer; `null` if off. */
  readonly failedVerifications: BudgetOptions | null;
}

interface ApiKeysModel extends ApiKeyOptions {
  readonly header: string;
  readonly forward: boolean;
}

/** Where a provider's notices are received, by kind: on the admin listener, or at a public path. `null` if they are not. */
export type NoticePlaces = Readonly<Record<NoticeKind, string | null>>;

/** A provider and the rules for its tokens. */
export interface ProviderModel {
  /** Its name in the file; `null` for the one of `identity_provider`. */
  readonly name: string | null;
  /** Its name in metrics and logs; `null` if it is the only provider, which has no name there. */
  readonly label: string | null;
  readonly provider: ProviderOptions;
  /** The gateway's client settings; `null` if the gateway only verifies its tokens. */
  readonly client: ClientOptions | null;
  /** How the gateway asks it about tokens; `null` if it cannot, because it does not authenticate there. */
  readonly introspection: IntrospectionOptions | null;
  /** How users sign in; `null` if users do not sign in here. */
  readonly signIn: SignInOptions | null;
  readonly notices: NoticePlaces;
  readonly accessTokens: AccessTokenOptions;
  /** How opaque tokens are accepted; `null` if they are not. At most one provider has it. */
  readonly opaqueTokens: { readonly cacheMs: number } | null;
  readonly keySet: KeySetOptions;
  readonly cache: CacheOptions;
  /** Tokens issued earlier are refused: seconds since the epoch, 0 for none. */
  readonly notBeforeS: number;
}

/** The provider that signs users in; `null` if none does. */
export function signInProvider(
  identity: IdentityModel | null,
): (ProviderModel & { readonly signIn: SignInOptions }) | null {
  for (const each of identity?.providers ?? [])
    if (each.signIn !== null) return { ...each, signIn: each.signIn };
  return null;
}

export function hasBots({ providers, apiKeys }: IdentityModel): boolean {
  return (
    providers.some(({ accessTokens }) => accessTokens.bots !== null) ||
    apiKeys?.lines.some(({ isBot }) => isBot) === true
  );
}

/** The classes that gateway.yaml and the file of API keys name, each once. */
export function classNames(identity: IdentityModel | null): readonly string[] {
  const ofKeys = (identity?.apiKeys?.lines ?? []).flatMap(line => line.class ?? []);
  return [...new Set([...classRules(identity).map(({ name }) => name), ...ofKeys])];
}

/** The class of an API key, by its name; `null` if no line has it. */
export function classOfApiKey(name: string, identity: IdentityModel | null): ClassName | null {
  const line = identity?.apiKeys?.lines.find(each => each.name === name);
  return line === undefined ? null : (line.class ?? (line.isBot ? 'bot' : 'user'));
}

/** The class that lists this caller by its principal; `null` if none does. Its token may assign it to another. */
export function listedClass(principal: string, identity: IdentityModel | null): string | null {
  return classRules(identity).find(({ callers }) => callers.has(principal))?.name ?? null;
}

function classRules(identity: IdentityModel | null): readonly ClassRule[] {
  return (identity?.providers ?? []).flatMap(({ accessTokens }) => accessTokens.classes);
}

export function noticeKindsIn(...all: readonly NoticePlaces[]): readonly NoticeKind[] {
  return NOTICE_KINDS.filter(kind => all.some(places => places[kind] !== null));
}
