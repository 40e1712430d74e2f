import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { isOfSmallOrder } from '../../../../../src/identity/auth/token/key-flaws.ts';
import { bytesOf } from '../../../../support/weak-keys.ts';

const P_25519 = 2n ** 255n - 19n;
const P_448 = 2n ** 448n - 2n ** 224n - 1n;
/** Of the four points of order 8; the others have the same y, or p less it. */
const ORDER_8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;

const little = (y: bigint, length: number, sign: boolean) => {
  const bytes = Buffer.alloc(length);
  bytesOf(y).reverse().copy(bytes);
  bytes[length - 1] = (bytes[length - 1] ?? 0) | (sign ? 0x80 : 0);
  return bytes;
};

test.each([0n, 1n, P_25519 - 1n, P_25519, P_25519 + 1n, ORDER_8, P_25519 - ORDER_8])(
  'a point of edwards25519 with y = %d is of small order, whatever the sign of x',
  y => {
    for (const sign of [true, false]) expect(isOfSmallOrder('Ed25519', little(y, 32, sign))).toBe(true);
  },
);

test.each([0n, 1n, P_448 - 1n, P_448, P_448 + 1n])(
  'a point of edwards448 with y = %d is of small order, whatever the sign of x',
  y => {
    for (const sign of [true, false]) expect(isOfSmallOrder('Ed448', little(y, 57, sign))).toBe(true);
  },
);

test('points of other orders and values that are not points are not of small order', () => {
  for (const y of [2n, 3n, P_25519 - 2n, ORDER_8 + 1n, (4n * ((P_25519 + 1n) / 5n)) % P_25519])
    expect(isOfSmallOrder('Ed25519', little(y, 32, false))).toBe(false);
  for (const y of [2n, P_448 - 2n, ORDER_8])
    expect(isOfSmallOrder('Ed448', little(y, 57, false))).toBe(false);
});

test('generated keys are not of small order', () => {
  for (let i = 0; i < 50; i++) {
    const ed25519 = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
    const ed448 = generateKeyPairSync('ed448').publicKey.export({ format: 'jwk' });
    expect(isOfSmallOrder('Ed25519', Buffer.from(ed25519.x ?? '', 'base64url'))).toBe(false);
    expect(isOfSmallOrder('Ed448', Buffer.from(ed448.x ?? '', 'base64url'))).toBe(false);
  }
});
