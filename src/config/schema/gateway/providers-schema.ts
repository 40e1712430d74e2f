import { z } from 'zod';

import { text } from '../plain-values.ts';
import { tokenRules } from './access-tokens-schema.ts';
import { identityProviderSchema } from './identity-schema.ts';

// `identity_providers` of gateway.yaml: the keys of `identity_provider` with a name, and the rules for tokens that would stand
// under `access_tokens`.

/** Each is a value of metric labels, and keys are fetched from each. */
const MAX_PROVIDERS = 20;

const NAME = 'expected a name of 1 to 63 letters, digits, ".", "_" or "-", such as main';

/** An entry of the list. */
export const providerEntrySchema = identityProviderSchema.extend({
  name: text(NAME)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, { error: NAME })
    // Metrics say none for tokens of no provider.
    .refine(name => name !== 'none', { error: 'no provider may be named none: metrics use that word' })
    .describe('Names it in metrics, logs, limits.yaml and the admin API.'),
  redirect_uri: identityProviderSchema.shape.redirect_uri.describe(
    'Where the provider sends browsers back to. The one provider that has it signs users in; tokens of the others are only checked.',
  ),
  ...tokenRules,
});

export const identityProvidersSchema = z
  .array(providerEntrySchema, { error: 'expected a list of providers, each of which begins with "- name:"' })
  .min(1, { error: 'an empty list has no provider: leave it out' })
  .max(MAX_PROVIDERS, { error: `at most ${MAX_PROVIDERS} providers are possible` });
