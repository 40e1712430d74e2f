import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { Clock } from '../../../core/index.ts';

export const AUDIENCE = 'played';

/** How long the token of a warm-up is valid, in seconds: longer than any warm-up. */
const LIFETIME_S = 3_600;

/** Issues the token of a warm-up. Its key leaves this thread by no way, and nothing real accepts it. */
export class PlayedIssuer {
  readonly keySet: string;
  readonly #privateKey: KeyObject;

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const jwk = { ...publicKey.export({ format: 'jwk' }), alg: 'EdDSA', use: 'sig', kid: 'played' };
    this.keySet = JSON.stringify({ keys: [jwk] });
    this.#privateKey = privateKey;
  }

  token(issuer: string, clock: Clock): string {
    const nowS = Math.floor(clock.epochMs() / 1_000);
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = {
      iss: issuer,
      aud: AUDIENCE,
      sub: 'played',
      azp: 'played',
      iat: nowS,
      exp: nowS + LIFETIME_S,
    };
    const text = `${part({ alg: 'EdDSA', typ: 'at+jwt', kid: 'played' })}.${part(claims)}`;
    return `${text}.${sign(null, Buffer.from(text), this.#privateKey).toString('base64url')}`;
  }
}
