import type { KeySet } from '../key-set.ts';
import { isSignature, type Jwt } from '../token/index.ts';

/** `undecided`: the key could not be fetched now; it may exist. */
export type SignatureVerdict = 'good' | 'signature' | 'algorithm' | 'unknown_key' | 'undecided';

/** Checks a signature by the issuer's keys. An unknown key causes a fetch, within the bounds of the key set. */
export async function checkSignature(jwt: Jwt, keys: KeySet): Promise<SignatureVerdict> {
  const known = checkWithKnown(jwt, keys);
  if (known !== 'unknown_key') return known;
  const joined = keys.fetching;
  if (!joined && keys.cooldownMs() > 0) return 'undecided';
  if (!(await keys.refresh())) return 'undecided';
  const fetched = checkWithKnown(jwt, keys);
  // A fetch that had begun before the notice came may lack a newer key.
  return fetched === 'unknown_key' && joined ? 'undecided' : fetched;
}

function checkWithKnown(jwt: Jwt, keys: KeySet): Exclude<SignatureVerdict, 'undecided'> {
  const candidates = keys.candidates(jwt.algorithm, jwt.keyId);
  if (candidates.length === 0)
    return jwt.keyId !== null && keys.knows(jwt.keyId) ? 'algorithm' : 'unknown_key';
  const signed = Buffer.from(jwt.signingInput, 'latin1');
  const isGood = candidates.some(({ keyObject }) =>
    isSignature(jwt.algorithm, keyObject, signed, jwt.signature),
  );
  return isGood ? 'good' : 'signature';
}
