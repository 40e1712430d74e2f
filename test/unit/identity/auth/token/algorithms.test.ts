import { constants, generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isSignature } from '../../../../../src/identity/auth/token/algorithms.ts';
import { readKeySet } from '../../../../../src/identity/auth/token/jwk.ts';
import { issuerKey, keySetJson } from '../../../../support/token-issuer.ts';

const pss = issuerKey('PS256', 'ps-1');
const ed = issuerKey('EdDSA', 'ed-1');
const data = Buffer.from('what was signed');
const [pssKey, edKey] = readKeySet(Buffer.from(keySetJson([pss, ed])), 2, []).keys.map(key => key.keyObject);

const signPss = (saltLength: number) =>
  sign('sha256', data, { key: pss.privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength });

describe('a signature', () => {
  it('of PS256 has a salt as long as the digest and no other', () => {
    if (pssKey === undefined) throw new Error('no key');
    expect(isSignature('PS256', pssKey, data, signPss(32))).toBe(true);
    expect(isSignature('PS256', pssKey, data, signPss(20))).toBe(false);
    expect(isSignature('PS256', pssKey, data, signPss(0))).toBe(false);
  });

  it('of RSA is as long as its key, also where it begins with a zero', () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1_024 });
    for (let tries = 0; ; tries++) {
      const text = Buffer.from(`what was signed ${tries}`);
      const key = { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
      const signature = sign('sha256', text, key);
      if (signature[0] !== 0) continue;
      expect(isSignature('PS256', publicKey, text, signature)).toBe(true);
      expect(isSignature('PS256', publicKey, text, signature.subarray(1))).toBe(false);
      return;
    }
  });

  it('is refused, not thrown at, under a key of another type', () => {
    if (edKey === undefined) throw new Error('no key');
    expect(isSignature('RS256', edKey, data, signPss(32))).toBe(false);
  });
});
