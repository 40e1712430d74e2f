import { z } from 'zod';

import { type CallerClaims, claimsOf, readPseudonymKey } from './compile/index.ts';
import { ConfigFile, type Diagnostic, type Environment, Readings } from './file/index.ts';
import { holdsLimits } from './holds-limits.ts';
import {
  accessTokensSchema,
  gatewayJsonSchema,
  gatewaySecrecy,
  logSchema,
  providerEntrySchema,
  validate,
} from './schema/index.ts';

/** How the callers of a configuration are identified, and named in its log. */
export type CallersResult =
  | {
      readonly ok: true;
      /** Empty: every caller is an address. */
      readonly classes: readonly CallerClaims[];
      /** Null: each process draws its own. */
      readonly pseudonymKey: Buffer | null;
    }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

const { principal, bots } = accessTokensSchema.shape;
const { name, issuer } = providerEntrySchema.shape;
const schema = z.object({
  access_tokens: z.object({ principal, bots }).optional(),
  identity_providers: z.array(z.object({ name, issuer, principal, bots })).optional(),
  log: z.object({ pseudonym_key_file: logSchema.unwrap().shape.pseudonym_key_file }).prefault({}),
});
const KEY_FILE = ['log', 'pseudonym_key_file'];

/**
 * Reads how callers are named, and nothing else: a colleague who looks for one needs neither the secrets of the gateway nor the
 * variables that hold them. Never throws because of a file's content.
 */
export async function readCallers(path: string, env: Environment): Promise<CallersResult> {
  const file = await ConfigFile.read(path, env, new Readings(), gatewaySecrecy);
  if (holdsLimits(file.value))
    file.add([], 'this is a limits file: name the gateway.yaml that refers to it under "limits"');
  const config = holdsLimits(file.value) ? undefined : validate(file, schema, gatewayJsonSchema);
  const pseudonymKey = await readPseudonymKey(file);
  const isKeyMissing = pseudonymKey === null && file.has(KEY_FILE);
  if (config === undefined || isKeyMissing) return { ok: false, diagnostics: file.diagnostics };
  return { ok: true, classes: claimsOf(config), pseudonymKey };
}
