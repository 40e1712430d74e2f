import { randomBytes } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { ownMemory } from '../../../../src/core/index.ts';
import { StringHash } from '../../../../src/limits/counting/record-table.ts';

test('a string is hashed by HalfSipHash with one round per word and three to finish', () => {
  for (const text of [
    'a',
    'ab',
    'abc',
    'user:0b9e5c1e-8f0a-4a52-a6f2-0c1d8be6a7a1',
    '\u00e9\u{1f600}',
    'x'.repeat(300),
  ]) {
    const hash = new StringHash(0x03020100, 0x07060504);
    hash.read(text);
    const expected = halfSipHash(Buffer.from(text, 'utf16le'), [0x03020100, 0x07060504], 1, 3);
    expect([hash.low >>> 0, hash.high >>> 0]).toEqual(expected);
  }
});

test('the reference below gives the values that the authors published', () => {
  const bytes = Buffer.from(Array.from({ length: 64 }, (_, i) => i));
  const published = VECTORS.map(([length, hex]) => [length, hex]);
  const computed = VECTORS.map(([length]) => {
    const [low, high] = halfSipHash(bytes.subarray(0, length), [0x03020100, 0x07060504], 2, 4);
    const out = Buffer.alloc(8);
    out.writeUInt32LE(low, 0);
    out.writeUInt32LE(high, 4);
    return [length, out.toString('hex')];
  });
  expect(computed).toEqual(published);
});

test('another key gives another hash', () => {
  const [one, two] = [new StringHash(1, 2), new StringHash(1, 3)];
  one.read('caller');
  two.read('caller');
  expect([one.low, one.high]).not.toEqual([two.low, two.high]);
});

test('the key of a table does not come from Math.random, whose numbers can be predicted', () => {
  const predictable = vi.spyOn(Math, 'random').mockReturnValue(0.5);
  const hashes = [1, 2].map(() => StringHash.withRandomKey(ownMemory(randomBytes), 'callers'));
  predictable.mockRestore();
  const values = hashes.map(hash => {
    hash.read('caller');
    return `${hash.low} ${hash.high}`;
  });
  expect(values[0]).not.toBe(values[1]);
});

test('strings that differ in one bit of one character differ in about half of the bits', () => {
  const hash = new StringHash(1, 2);
  let differing = 0;
  for (let i = 0; i < 1_000; i++) {
    hash.read(`caller-${i}`);
    const { low, high } = hash;
    hash.read(`caller-${i}`.replace('c', 'b'));
    differing += ones(low ^ hash.low) + ones(high ^ hash.high);
  }
  expect(differing / 1_000).toBeGreaterThan(30);
  expect(differing / 1_000).toBeLessThan(34);
});

test('the empty string is 0', () => {
  const hash = new StringHash(1, 2);
  hash.read('full');
  hash.read('');
  expect([hash.low, hash.high]).toEqual([0, 0]);
});

/** https://github.com/veorq/SipHash/blob/master/vectors.h, vectors_hsip64: bytes 0 to length - 1 under the key 0 to 7. */
const VECTORS: readonly (readonly [length: number, hex: string])[] = [
  [0, '218d1f59b9b83cc8'],
  [1, 'be552412f8387315'],
  [4, 'd5e78a175be52ea1'],
  [7, 'ff202728b07bc684'],
  [12, '7bc71f9faef5c799'],
];

function ones(bits: number): number {
  let count = 0;
  for (let rest = bits >>> 0; rest > 0; rest = Math.floor(rest / 2)) count += rest % 2;
  return count;
}

/** Written from the paper, plainly. */
function halfSipHash(
  bytes: Buffer,
  [k0, k1]: [number, number],
  compress: number,
  finish: number,
): [number, number] {
  const v = Uint32Array.of(k0, k1 ^ 0xee, 0x6c796765 ^ k0, 0x74656462 ^ k1);
  const at = (i: number) => v[i] ?? 0;
  const rotate = (i: number, by: number) => {
    v[i] = (at(i) << by) | (at(i) >>> (32 - by));
  };
  const round = () => {
    v[0] = at(0) + at(1);
    rotate(1, 5);
    v[1] = at(1) ^ at(0);
    rotate(0, 16);
    v[2] = at(2) + at(3);
    rotate(3, 8);
    v[3] = at(3) ^ at(2);
    v[0] = at(0) + at(3);
    rotate(3, 7);
    v[3] = at(3) ^ at(0);
    v[2] = at(2) + at(1);
    rotate(1, 13);
    v[1] = at(1) ^ at(2);
    rotate(2, 16);
  };
  const rounds = (count: number) => {
    for (let i = 0; i < count; i++) round();
  };
  const padded = Buffer.alloc((Math.floor(bytes.length / 4) + 1) * 4);
  bytes.copy(padded);
  padded[padded.length - 1] = bytes.length & 0xff;
  for (let i = 0; i < padded.length; i += 4) {
    const word = padded.readUInt32LE(i);
    v[3] = at(3) ^ word;
    rounds(compress);
    v[0] = at(0) ^ word;
  }
  v[2] = at(2) ^ 0xee;
  rounds(finish);
  const low = (at(1) ^ at(3)) >>> 0;
  v[1] = at(1) ^ 0xdd;
  rounds(finish);
  return [low, (at(1) ^ at(3)) >>> 0];
}
