import { generateKeyPairSync, sign } from 'node:crypto';
import type { Clock } from '../../../core/index.ts';

export const AUDIENCE = 'played';

/** How long the token of a warm-up is valid, in seconds: longer than any warm-up. */
const LIFETIME_S = 3_600;

/** Issues the token of a warm-up. Its key never leaves this thread, and only the warm-up accepts it. */
export function playedIssuer() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const jwk = { ...publicKey.export({ format: 'jwk' }), alg: 'EdDSA', use: 'sig', kid: 'played' };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return {
    keySet: JSON.stringify({ keys: [jwk] }),
    token(iss: string, clock: Clock): string {
      const iat = Math.floor(clock.epochMs() / 1_000);
      const claims = { iss, aud: AUDIENCE, sub: 'played', azp: 'played', iat, exp: iat + LIFETIME_S };
      const text = `${part({ alg: 'EdDSA', typ: 'at+jwt', kid: 'played' })}.${part(claims)}`;
      return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`;
    },
  };
}
