import { calculateJwkThumbprint } from 'jose';
import { describe, expect, it } from 'vitest';
import { ProofKeys, thumbprintOf } from '../../../../../src/identity/auth/proofs/proof-keys.ts';
import { clientKey } from '../../../../support/proofs.ts';

describe('the thumbprint of a key', () => {
  it('is that of RFC 7638, 3.1', () => {
    const n =
      '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw';
    const jwk = { kty: 'RSA', n, e: 'AQAB', alg: 'RS256', kid: '2011-04-29' };
    expect(thumbprintOf(jwk)).toBe('NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs');
  });

  it.each(['ES256', 'ES384', 'EdDSA', 'RS256'] as const)('is that of another library, of %s', async alg => {
    const { jwk, thumbprint } = clientKey(alg);
    expect(thumbprint).toBe(await calculateJwkThumbprint(jwk));
  });

  it.each([
    {},
    { kty: 'oct', k: 'AA' },
    { kty: 'constructor' },
    { kty: 'EC', crv: 'P-256', x: 'AA' },
    { kty: 7 },
  ])('is none for %j', jwk => expect(thumbprintOf(jwk)).toBeNull());
});

describe('keys of clients', () => {
  it('are imported once, and no more are kept than fit', () => {
    const keys = new ProofKeys(4);
    const [first, ...others] = Array.from({ length: 9 }, () => clientKey('EdDSA'));
    if (first === undefined) throw new Error('no key');
    const known = keys.of(first.thumbprint, first.jwk);
    expect(keys.of(first.thumbprint, first.jwk)).toBe(known);
    for (const { thumbprint, jwk } of others) keys.of(thumbprint, jwk);
    expect(keys.size).toBeLessThanOrEqual(4);
    expect(keys.of(first.thumbprint, first.jwk)).not.toBe(known);
  });
});
