import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readKeySet } from '../../../../../src/identity/auth/token/jwk.ts';
import { base64Url, issuerKey } from '../../../../support/token-issuer.ts';
import { bytesOf, modulusOf, rocaKey } from '../../../../support/weak-keys.ts';
import { ecdsa, rsa } from '../fixture.ts';

const read = (set: unknown, known: Parameters<typeof readKeySet>[2] = []) =>
  readKeySet(Buffer.from(JSON.stringify(set)), 100, known);

/** What the set of these two keeps: the RSA key is there so that it is never empty. */
const kept = (jwk: unknown) => read({ keys: [rsa.jwk, jwk] }).keys.length - 1;

const { alg: _, ...rsaAnyAlg } = rsa.jwk;
const secp256k1 = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey.export({ format: 'jwk' });

describe('a key set', () => {
  it('holds public keys for the algorithms that they fit', () => {
    const ed = issuerKey('EdDSA', 'ed');
    const { keys } = read({ keys: [rsa.jwk, ecdsa.jwk, ed.jwk] });
    expect(keys.map(key => [key.id, key.algorithms, key.keyObject.type])).toEqual([
      ['rsa-1', ['RS256'], 'public'],
      ['ec-1', ['ES256'], 'public'],
      ['ed', ['EdDSA', 'Ed25519'], 'public'],
    ]);
  });

  it('lets a key without alg verify whatever its type can', () => {
    const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
    expect(read({ keys: [rsaAnyAlg] }).keys[0]?.algorithms).toEqual(algorithms);
  });

  it.each(['EdDSA', 'Ed25519', undefined])('takes the names of one algorithm for one: %s', name => {
    const { jwk } = issuerKey('EdDSA', 'ed');
    expect(read({ keys: [{ ...jwk, alg: name }] }).keys[0]?.algorithms).toEqual(['EdDSA', 'Ed25519']);
    expect(kept({ ...jwk, alg: 'Ed448' })).toBe(0);
  });

  it.each([
    [{ alg: 'RSA256' }, 'a type or algorithm that is not supported: kty "RSA", crv none, alg "RSA256"'],
    [{ kty: 'rsa' }, 'a type or algorithm that is not supported: kty "rsa", crv none, alg "RS256"'],
    [{ ...secp256k1, alg: 'ES256K' }, /kty "EC", crv "secp256k1", alg "ES256K"$/],
    [{ alg: 'x'.repeat(1_000) }, /alg "x{39}$/],
    [{ use: 'signature' }, 'a use that is not "sig": "signature"'],
    [{ use: ['sig'] }, 'a use that is not "sig": ["sig"]'],
    [{ use: 'sig', key_ops: ['sign'] }, 'key_ops without "verify": ["sign"]'],
    [{ key_ops: 'verify' }, 'key_ops without "verify": "verify"'],
    [{ kid: 7 }, 'a kid that is not text'],
  ])('says why a key is left out that is not for encryption: %j', (members, flaw) => {
    const { flawed } = read({ keys: [ecdsa.jwk, { ...rsa.jwk, ...members }] });
    expect(flawed.map(each => each.flaw)).toEqual([
      typeof flaw === 'string' ? flaw : expect.stringMatching(flaw),
    ]);
  });

  it.each([
    { use: 'enc', alg: 'RSA256' },
    { alg: 'RSA-OAEP-256' },
    { kty: 'oct', k: 'AA' },
    { kty: 'OKP', crv: 'X25519' },
    { use: undefined, key_ops: ['encrypt', 'wrapKey'] },
  ])('says nothing of a key for encryption: %j', members => {
    expect(read({ keys: [ecdsa.jwk, { ...rsa.jwk, alg: undefined, ...members }] })).toMatchObject({
      unusable: 1,
      flawed: [],
    });
  });

  it('reuses keys that did not change', () => {
    const first = read({ keys: [rsa.jwk, ecdsa.jwk] }).keys;
    const second = read({ keys: [ecdsa.jwk, { ...rsa.jwk, kid: 'other' }] }, first).keys;
    expect(second[0]).toBe(first[1]);
    expect(second[1]).not.toBe(first[0]);
  });

  it('reads a key anew whose members changed under the same id', () => {
    const { jwk } = issuerKey('ES256', ecdsa.kid);
    const { keys } = read({ keys: [jwk] }, read({ keys: [ecdsa.jwk] }).keys);
    expect(keys[0]?.keyObject.export({ format: 'jwk' })['x']).toBe(jwk['x']);
  });

  it('need not name its keys', () => {
    const { kid: _kid, ...nameless } = rsa.jwk;
    expect(read({ keys: [nameless] }).keys.map(({ id }) => id)).toEqual([null]);
    expect(read({ keys: [ecdsa.jwk, { ...nameless, n: 7 }] }).flawed[0]?.keyId).toBeNull();
  });

  it('imports only the public part when an issuer publishes a private key', () => {
    const jwk = { ...ecdsa.privateKey.export({ format: 'jwk' }), kid: 'oops' };
    expect(read({ keys: [jwk] }).keys[0]?.keyObject.type).toBe('public');
  });

  const { n: _n, ...withoutModulus } = rsa.jwk;
  const small = generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey.export({ format: 'jwk' });
  const x25519 = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' });
  const modulus = modulusOf(rsa.privateKey);
  const product = (of: bigint) => base64Url(bytesOf(of));
  const anyAlg = { kid: 'weak', alg: undefined };
  const flawed: readonly (readonly [string, Readonly<Record<string, unknown>>, RegExp])[] = [
    ['of 1,024 bits', { ...small, ...anyAlg }, /fewer than 2048 bits/],
    ['of 2,047 bits', { ...rsa.jwk, n: product(modulus / 2n) }, /fewer than 2048 bits/],
    [
      'of 1,024 bits behind zeros',
      { ...small, ...anyAlg, n: base64Url(Buffer.concat([Buffer.alloc(256), bytesOf(modulus >> 1_024n)])) },
      /fewer than 2048 bits/,
    ],
    ['of 16,385 bits', { ...rsa.jwk, n: product(2n ** 16_384n + 1n) }, /more than 16384 bits/],
    ...[0, 1, 2, 4, 65_536].map(
      exponent =>
        [
          `with the public exponent ${exponent}`,
          { ...rsa.jwk, e: product(BigInt(exponent)) },
          /exponent that is below 3 or even/,
        ] as const,
    ),
    ['with an even modulus', { ...rsa.jwk, n: product(modulus + 1n) }, /small factor/],
    ['with a modulus that 101 divides', { ...rsa.jwk, n: product(modulus * 101n) }, /small factor/],
    ['with the ROCA fingerprint', { ...rocaKey('roca').jwk }, /ROCA/],
    [
      'of Ed25519 that is the neutral point',
      { kty: 'OKP', crv: 'Ed25519', x: base64Url(Buffer.alloc(32).fill(1, 0, 1)), ...anyAlg },
      /small order/,
    ],
    [
      'of Ed448 that is of order 4',
      { kty: 'OKP', crv: 'Ed448', x: base64Url(Buffer.alloc(57)), ...anyAlg },
      /small order/,
    ],
    ['with a point off its curve', { ...ecdsa.jwk, x: ecdsa.jwk['y'] }, /do not form a key/],
    ['without its modulus', withoutModulus, /do not form a key/],
    ['with an empty modulus', { ...rsa.jwk, n: '' }, /fewer than 2048 bits|do not form a key/],
    ['with a modulus that is a number', { ...rsa.jwk, n: 7 }, /do not form a key/],
  ];
  it.each(flawed)('leaves out a key %s, and says why', (_, jwk, why) => {
    const set = read({ keys: [jwk, ecdsa.jwk] });
    expect(set.keys.map(({ id }) => id)).toEqual([ecdsa.kid]);
    expect(set.unusable).toBe(1);
    expect(set.flawed).toEqual([{ keyId: jwk['kid'], flaw: expect.stringMatching(why) }]);
    expect(() => read({ keys: [jwk] })).toThrow(
      new RegExp(`no key that can verify tokens: the key "${jwk['kid']}" has .*(${why.source})`),
    );
  });

  it('keeps a key with the exponent 3, and one of 3,072 bits', () => {
    for (const options of [{ modulusLength: 2_048, publicExponent: 3 }, { modulusLength: 3_072 }]) {
      const jwk = generateKeyPairSync('rsa', options).publicKey.export({ format: 'jwk' });
      expect(kept({ ...jwk, kid: 'other' })).toBe(1);
    }
  });

  it('reports only flawed keys that are meant for signatures, and cuts their ids', () => {
    const one = base64Url(Buffer.from([1]));
    const weak = { ...rsa.jwk, e: one };
    expect(read({ keys: [ecdsa.jwk, { ...weak, use: 'enc' }, { ...weak, alg: 'RSA-OAEP' }] }).flawed).toEqual(
      [],
    );
    const { flawed: told } = read({ keys: [ecdsa.jwk, { ...weak, kid: 'x'.repeat(10_000) }] });
    expect(told[0]?.keyId).toBe('x'.repeat(100));
  });

  it.each([
    ['for encryption', { ...rsa.jwk, use: 'enc' }],
    [
      'for encryption, though its operations are those of a signature',
      { ...rsa.jwk, use: 'enc', key_ops: ['verify'] },
    ],
    ['for signatures, though its operations are not', { ...rsa.jwk, use: 'sig', key_ops: ['encrypt'] }],
    ['with an encryption algorithm', { ...rsa.jwk, alg: 'RSA-OAEP' }],
    ['with the algorithm of another type', { ...rsa.jwk, alg: 'ES256' }],
    ['with the algorithm of another curve', { ...ecdsa.jwk, alg: 'ES384' }],
    ['with operations that do not include verify', { ...rsa.jwk, key_ops: ['sign', 'encrypt'] }],
    ['with operations that are no list', { ...rsa.jwk, key_ops: 'verify' }],
    ['that is symmetric', { kty: 'oct', k: 'c2VjcmV0', kid: 'oct', alg: 'HS256' }],
    ['on the curve secp256k1', { ...secp256k1, kid: 'k1' }],
    ['on the curve X25519', { ...x25519, kid: 'x' }],
    ['with a name that is no text', { ...rsa.jwk, kid: 7 }],
    ['of an unknown type', { kty: 'AKP', kid: 'pq' }],
    ['that is no object', 'key'],
    ['that is null', null],
  ])('leaves out a key %s', (_, jwk) => {
    expect(kept(jwk)).toBe(0);
  });

  it('keeps a key whose other members are null, as some serializers write them', () => {
    const nulls = { use: null, alg: null, key_ops: null, x5c: null, x5t: null, d: null };
    expect(kept({ ...rsa.jwk, ...nulls })).toBe(1);
    expect(kept({ ...rsa.jwk, ...nulls, use: 'enc' })).toBe(0);
  });

  it('keeps a key whose operations include verify', () => {
    expect(kept({ ...ecdsa.jwk, key_ops: ['verify'] })).toBe(1);
  });

  it('may have as many keys as are allowed', () => {
    expect(read({ keys: new Array(100).fill(rsa.jwk) }).keys).toHaveLength(100);
  });

  it('counts what it leaves out', () => {
    expect(read({ keys: [rsa.jwk, { kty: 'oct' }, 7] }).unusable).toBe(2);
  });

  it.each([
    ['is no JSON', '<html>', /not a JSON Web Key Set/],
    ['is a list', '[]', /not a JSON Web Key Set/],
    ['has no keys', '{}', /not a JSON Web Key Set/],
    ['has keys that are no list', '{"keys":{}}', /not a JSON Web Key Set/],
    ['inherits its keys', '{"__proto__":{"keys":[]}}', /not a JSON Web Key Set/],
    ['is empty', '{"keys":[]}', /no key that can verify/],
    ['has no usable key', '{"keys":[{"kty":"oct","k":"AA"}]}', /no key that can verify/],
    ['has 101 keys', JSON.stringify({ keys: new Array(101).fill(rsa.jwk) }), /more than 100 keys/],
  ])('is refused when it %s', (_, text, message) => {
    expect(() => readKeySet(Buffer.from(text), 100, [])).toThrow(message);
  });
});

it('reads a key set behind a byte-order mark', () => {
  const bytes = Buffer.from(`\ufeff${JSON.stringify({ keys: [rsa.jwk] })}`);
  expect(readKeySet(bytes, 100, []).keys).toHaveLength(1);
});
