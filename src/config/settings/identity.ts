import { z } from 'zod';
import { asList, asMap } from '../file/index.ts';
import { doorAsWhole } from '../values/index.ts';
import { accessTokensSchema } from './access-tokens.ts';
import { CAP_COSTS, fillIn } from './memory.ts';
import { identityProviderSchema, providerEntrySchema } from './provider-keys.ts';
import { providerWithoutSecrets, readProviders } from './read-provider.ts';
import { setting } from './setting.ts';

/** Maximum providers: each is a metrics label value, and keys are fetched from each. */
const MAX_PROVIDERS = 20;

/**
 * `identity_provider` with `access_tokens`, or `identity_providers`: whose tokens are accepted, and how they identify callers.
 * check/identity-checks.ts checks how they fit together and to the routes, compile/compile-identity.ts compiles them.
 */
export const identity = setting({
  keys: {
    identity_provider: doorAsWhole(identityProviderSchema)
      .optional()
      .describe(
        'The OpenID Connect provider that issues tokens and signs users in. Without it, every route must say "authentication: none".',
      ),
    access_tokens: doorAsWhole(accessTokensSchema)
      .optional()
      .describe(
        'Which access tokens are accepted, and how they identify callers. Required with identity_provider.',
      ),
    identity_providers: doorAsWhole(
      z
        .array(doorAsWhole(providerEntrySchema), {
          error: 'expected a list of providers, each of which begins with "- name:"',
        })
        .min(1, { error: 'an empty list has no provider: leave it out' })
        .max(MAX_PROVIDERS, { error: `at most ${MAX_PROVIDERS} providers are possible` }),
    )
      .optional()
      .describe(
        'Instead of identity_provider: several providers, each with its name, its audience and the callers it identifies. The same keys as identity_provider otherwise.',
      ),
  },
  fill({ access_tokens, identity_providers: several }, { part }) {
    // Each provider has its own tables of tokens, one of them another for opaque ones.
    const entries = [access_tokens, ...asList(several)].map(asMap);
    const hasOpaque = entries.some(({ opaque_tokens: opaque = 'off' }) => opaque !== 'off');
    const tables = Math.max(1, asList(several).length) + (hasOpaque ? 1 : 0);
    fillIn(access_tokens, { cache: {} });
    fillIn(asMap(access_tokens).cache, { tokens: part(CAP_COSTS.tokens.most, tables) });
  },
  read: async (file, clock) => ({ providers: await readProviders(file, clock) }),
  withoutSecrets: ({ identity_provider: one, identity_providers: several = [] }) => ({
    providers: [...(one === undefined ? [] : [one]), ...several].map(providerWithoutSecrets),
  }),
});
