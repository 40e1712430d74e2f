import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import {
  base64Url,
  type IssuerKey,
  issuerKey,
  keySetJson,
  type SigningAlgorithm,
  signToken,
} from '../../test/support/token-issuer.ts';
import { freePort } from './part.ts';

/** What issues the tokens of the measurements: a key set, and claims as Keycloak writes them. */
export class Issuer {
  readonly url: string;
  readonly keySet: string;
  readonly close: () => void;
  readonly #keys: ReadonlyMap<SigningAlgorithm, IssuerKey>;
  #made = 0;

  constructor(url: string, keys: ReadonlyMap<SigningAlgorithm, IssuerKey>, close: () => void) {
    this.url = url;
    this.keySet = keySetJson([...keys.values()]);
    this.#keys = keys;
    this.close = close;
  }

  /** A good token, another one each time. */
  token(algorithm: SigningAlgorithm): string {
    return signToken(this.#key(algorithm), this.#claims());
  }

  /** Looks like a good token in all but its signature, and is older than the keys, so that no newer key can have signed it. */
  forgedToken(): string {
    const header = JSON.stringify({ alg: 'ES256', typ: 'JWT', kid: this.#key('ES256').kid });
    const payload = JSON.stringify({ ...this.#claims(), iat: Math.floor(Date.now() / 1_000) - 60 });
    return `${base64Url(header)}.${base64Url(payload)}.${base64Url(randomBytes(64))}`;
  }

  #claims(): Readonly<Record<string, unknown>> {
    const now = Math.floor(Date.now() / 1_000);
    this.#made += 1;
    return {
      exp: now + 3_600,
      iat: now,
      jti: `onrtac:7d0f0d3a-${this.#made}`,
      iss: this.url,
      aud: ['api', 'account'],
      sub: '5d1f0c9e-7a52-4c1c-9d52-6f1f6a1c0a11',
      typ: 'Bearer',
      azp: 'app',
      sid: '8f6a1d0b-5a40-4f6e-8f5b-3b3a1f4c7c11',
      realm_access: { roles: ['default-roles-main', 'offline_access', 'uma_authorization'] },
      scope: 'openid profile email',
      preferred_username: 'alice',
    };
  }

  #key(algorithm: SigningAlgorithm): IssuerKey {
    const key = this.#keys.get(algorithm);
    if (key === undefined) throw new Error(`the issuer has no key for ${algorithm}`);
    return key;
  }
}

/** Starts one with a key for RS256 and one for ES256, in this process: the gateway asks for its keys once. */
export async function startIssuer(): Promise<Issuer> {
  const port = await freePort();
  const keys = (['RS256', 'ES256'] as const).map(algorithm => issuerKey(algorithm, `key-${algorithm}`));
  const byAlgorithm = new Map(keys.map(key => [key.alg, key] as const));
  const server = createServer((_request, response) => response.end(issuer.keySet));
  const issuer = new Issuer(`http://127.0.0.1:${port}`, byAlgorithm, () => {
    server.close();
    server.closeAllConnections();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return issuer;
}
