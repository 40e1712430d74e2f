import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readKeySet } from '../../../src/auth/jwk.ts';
import { issuerKey } from '../../support/token-issuer.ts';
import { ecdsa, rsa } from './fixture.ts';

const read = (set: unknown, known: Parameters<typeof readKeySet>[2] = []) =>
  readKeySet(Buffer.from(JSON.stringify(set)), 100, known);

/** What the set of these two keeps: the RSA key is there so that it is never empty. */
const kept = (jwk: unknown) => read({ keys: [rsa.jwk, jwk] }).keys.length - 1;

const { alg: _, ...rsaAnyAlg } = rsa.jwk;

describe('a key set', () => {
  it('holds public keys for the algorithms that they fit', () => {
    const ed = issuerKey('EdDSA', 'ed');
    const { keys } = read({ keys: [rsa.jwk, ecdsa.jwk, ed.jwk] });
    expect(keys.map(key => [key.id, key.algorithms, key.keyObject.type])).toEqual([
      ['rsa-1', ['RS256'], 'public'],
      ['ec-1', ['ES256'], 'public'],
      ['ed', ['EdDSA'], 'public'],
    ]);
  });

  it('lets a key without alg verify whatever its type can', () => {
    const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
    expect(read({ keys: [rsaAnyAlg] }).keys[0]?.algorithms).toEqual(algorithms);
  });

  it('reuses the keys it is shown that did not change', () => {
    const first = read({ keys: [rsa.jwk, ecdsa.jwk] }).keys;
    const second = read({ keys: [ecdsa.jwk, { ...rsa.jwk, kid: 'other' }] }, first).keys;
    expect(second[0]).toBe(first[1]);
    expect(second[1]).not.toBe(first[0]);
  });

  it('imports the public part alone when an issuer shows a private one', () => {
    const jwk = { ...ecdsa.privateKey.export({ format: 'jwk' }), kid: 'oops' };
    expect(read({ keys: [jwk] }).keys[0]?.keyObject.type).toBe('public');
  });

  const { n: _n, ...withoutModulus } = rsa.jwk;
  const small = generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey.export({ format: 'jwk' });
  const secp256k1 = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey.export({
    format: 'jwk',
  });
  const x25519 = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' });
  it.each([
    ['for encryption', { ...rsa.jwk, use: 'enc' }],
    ['with an encryption algorithm', { ...rsa.jwk, alg: 'RSA-OAEP' }],
    ['with the algorithm of another type', { ...rsa.jwk, alg: 'ES256' }],
    ['with the algorithm of another curve', { ...ecdsa.jwk, alg: 'ES384' }],
    ['with operations that do not include verify', { ...rsa.jwk, key_ops: ['sign', 'encrypt'] }],
    ['with operations that are no list', { ...rsa.jwk, key_ops: 'verify' }],
    ['of 1,024 bits', { ...small, kid: 'small' }],
    ['that is symmetric', { kty: 'oct', k: 'c2VjcmV0', kid: 'oct', alg: 'HS256' }],
    ['on the curve secp256k1', { ...secp256k1, kid: 'k1' }],
    ['on the curve X25519', { ...x25519, kid: 'x' }],
    ['with a name that is no text', { ...rsa.jwk, kid: 7 }],
    ['without its modulus', withoutModulus],
    ['with a point that is not on its curve', { ...ecdsa.jwk, x: 'AAAA', alg: undefined }],
    ['of an unknown type', { kty: 'AKP', kid: 'pq' }],
    ['that is no object', 'key'],
    ['that is null', null],
  ])('leaves out a key %s', (_, jwk) => {
    expect(kept(jwk)).toBe(0);
  });

  it('keeps a key whose operations include verify', () => {
    expect(kept({ ...ecdsa.jwk, key_ops: ['verify'] })).toBe(1);
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
