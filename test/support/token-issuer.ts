import { constants, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** Keys of one signature algorithm, as an issuer holds them. */
export interface IssuerKey {
  readonly kid: string | null;
  readonly alg: SigningAlgorithm;
  readonly privateKey: KeyObject;
  /** The public JWK, with `kid`, `alg` and `use`. */
  readonly jwk: Readonly<Record<string, unknown>>;
}

const SIGNERS = {
  RS256: { make: () => generateKeyPairSync('rsa', { modulusLength: 2_048 }), digest: 'sha256' },
  PS256: {
    make: () => generateKeyPairSync('rsa', { modulusLength: 2_048 }),
    digest: 'sha256',
    options: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
  },
  ES256: { make: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }), digest: 'sha256' },
  ES384: { make: () => generateKeyPairSync('ec', { namedCurve: 'P-384' }), digest: 'sha384' },
  ES512: { make: () => generateKeyPairSync('ec', { namedCurve: 'P-521' }), digest: 'sha512' },
  EdDSA: { make: () => generateKeyPairSync('ed25519'), digest: null },
} as const;

export type SigningAlgorithm = keyof typeof SIGNERS;

/** A new key of that algorithm. `kid` null: its JWK and its tokens name none. */
export function issuerKey(alg: SigningAlgorithm, kid: string | null): IssuerKey {
  const { publicKey, privateKey } = SIGNERS[alg].make();
  const jwk = { ...publicKey.export({ format: 'jwk' }), alg, use: 'sig', ...(kid === null ? {} : { kid }) };
  return { kid, alg, privateKey, jwk };
}

/** The key set document of these keys. */
export function keySetJson(keys: readonly IssuerKey[]): string {
  return JSON.stringify({ keys: keys.map(key => key.jwk) });
}

/** A compact JWS with the key's `alg` and `kid`, over which `header` has the last word (undefined removes a member). */
export function signToken(
  key: IssuerKey,
  claims: unknown,
  header: Readonly<Record<string, unknown>> = {},
): string {
  const named = key.kid === null ? {} : { kid: key.kid };
  return signParts(
    key,
    JSON.stringify({ alg: key.alg, typ: 'JWT', ...named, ...header }),
    JSON.stringify(claims),
  );
}

/** The same from the bytes of header and payload, which may be nonsense. */
export function signParts(key: IssuerKey, header: string | Buffer, payload: string | Buffer): string {
  const input = `${base64Url(header)}.${base64Url(payload)}`;
  const { digest, ...rest } = SIGNERS[key.alg];
  const options = 'options' in rest ? rest.options : {};
  const parameters = { key: key.privateKey, dsaEncoding: 'ieee-p1363' as const, ...options };
  return `${input}.${sign(digest, Buffer.from(input), parameters).toString('base64url')}`;
}

export function base64Url(content: string | Buffer): string {
  return Buffer.from(content).toString('base64url');
}
