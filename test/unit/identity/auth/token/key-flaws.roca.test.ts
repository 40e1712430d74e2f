import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { hasRocaFingerprint } from '../../../../../src/identity/auth/token/key-flaws.ts';
import { modulusOf, numberOf, power, primorial, rocaKey } from '../../../../support/weak-keys.ts';

/** Of the generator's tables for keys of 512, 1,024, 2,048 and 4,096 bits: how many primes their product has. */
const TABLES = [39, 71, 126, 225];

describe('the ROCA fingerprint', () => {
  test('is that of keys made as the faulty generator makes them', () => {
    for (let i = 0; i < 2; i++) expect(hasRocaFingerprint(modulusOf(rocaKey('roca').privateKey))).toBe(true);
  });

  test.each(TABLES)('is that of any k * M + (65537^a mod M) with %d primes in M', count => {
    const product = primorial(count);
    for (let i = 0; i < 20; i++) {
      const k = numberOf(randomBytes(64));
      const a = numberOf(randomBytes(8));
      expect(hasRocaFingerprint(k * product + power(65_537n, a, product))).toBe(true);
    }
  });

  test('is not that of ordinary moduli', () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    expect(hasRocaFingerprint(modulusOf(privateKey))).toBe(false);
    for (let i = 0; i < 5_000; i++) expect(hasRocaFingerprint(numberOf(randomBytes(256)) | 1n)).toBe(false);
  });

  test('is not that of a modulus that is a power of 65537 by each prime, but by another exponent for each', () => {
    const product = primorial(39) / 2n;
    // 1 by all primes but 11, by which it is 65537 and not 1: exponent 0 there, and an odd one here.
    const others = product / 11n;
    const step = power(others, 9n, 11n);
    const fake = (1n + others * step * ((65_537n % 11n) - 1n)) % product;
    expect([fake % 11n, fake % others]).toEqual([65_537n % 11n, 1n]);
    expect(hasRocaFingerprint(fake)).toBe(false);
    expect(hasRocaFingerprint(1n)).toBe(true);
  });

  test('is not that of a modulus with a factor among the primes', () => {
    for (const prime of [3n, 11n, 167n]) expect(hasRocaFingerprint(prime * primorial(1))).toBe(false);
    expect(hasRocaFingerprint(0n)).toBe(false);
  });
});
