import { z } from 'zod';
import type { ProofOptions } from '../../identity/auth/index.ts';
import { duration } from '../values/index.ts';

const EXPECTED = 'expected off, accepted, required, or a map such as { mode: accepted, nonce: 5m }';

const rules = z.strictObject({
  mode: z
    .enum(['accepted', 'required'], { error: 'expected accepted or required' })
    .describe('accepted: unbound tokens are valid as well. required: only tokens that are bound to a key.'),
  nonce: duration({ min: '10s', max: '1h' })
    .optional()
    .describe(
      'How long a nonce is valid that the gateway makes and every proof has to contain. Left out: proofs need none.',
    ),
});

/** `access_tokens.dpop`: tokens that are bound to a key of their client (RFC 9449); `null` if none are accepted. */
export const dpop = z
  .union([z.enum(['off', 'accepted', 'required']), rules], { error: EXPECTED })
  .transform(written => {
    if (written === 'off') return null;
    return typeof written === 'string' ? { mode: written } : written;
  })
  .prefault('off')
  .describe(
    'Tokens bound to a key (cnf.jkt), sent under the scheme DPoP with a proof (RFC 9449). off: they are refused. accepted: they are valid with a proof. required: no others are.',
  );

/** The options for proofs; `null` if no token may be bound to a key. */
export function proofOptions({
  dpop: rules,
  leeway,
}: {
  readonly dpop: z.output<typeof dpop>;
  readonly leeway: number;
}): ProofOptions | null {
  if (rules === null) return null;
  const nonceMs = 'nonce' in rules ? (rules.nonce ?? null) : null;
  return { required: rules.mode === 'required', leewayMs: leeway, nonceMs };
}

/** Whether tokens may be bound to a key, so that requests carry proofs. */
export function takesProofs(tokens: { readonly dpop: z.output<typeof dpop> } | undefined): boolean {
  return tokens !== undefined && tokens.dpop !== null;
}
