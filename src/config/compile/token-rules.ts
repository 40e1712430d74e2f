import type { AccessTokensConfig, GatewayConfig } from '../schema/index.ts';

/** What a provider's tokens must be like, and whom they name. */
export interface TokenRules {
  /** The provider's; null: it is `identity_provider`, which needs none. */
  readonly name: string | null;
  readonly issuer: string;
  readonly isOneOfSeveral: boolean;
  readonly audience: string | null;
  readonly principal: readonly string[];
  readonly bots: AccessTokensConfig['bots'];
  readonly notBeforeS: number;
}

/** The rules of each provider, in the order of the file: from `access_tokens`, or from the entries of `identity_providers`. */
export function tokenRulesIn(config: GatewayConfig): readonly TokenRules[] {
  const { identity_provider: one, identity_providers: several = [], access_tokens: tokens } = config;
  const entries = several.map(entry =>
    rulesOf(entry, { name: entry.name, issuer: entry.issuer, isOneOfSeveral: several.length > 1 }),
  );
  if (one === undefined) return entries;
  if (tokens === undefined) throw new Error('access_tokens was not checked: identity_provider needs it');
  return [rulesOf(tokens, { name: null, issuer: one.issuer, isOneOfSeveral: false })];
}

type Rules = Pick<AccessTokensConfig, 'audience' | 'principal' | 'bots' | 'not_before'>;

function rulesOf(
  { audience, principal, bots, not_before: notBeforeS }: Rules,
  provider: Pick<TokenRules, 'name' | 'issuer' | 'isOneOfSeveral'>,
): TokenRules {
  if (audience === undefined) throw new Error('audience was not checked');
  return { ...provider, audience, principal, bots, notBeforeS };
}
