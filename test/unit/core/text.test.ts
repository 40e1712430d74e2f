import { expect, test } from 'vitest';
import { ownString } from '../../../src/core/index.ts';
import { usedBytes } from '../../support/memory.ts';

test.each([
  '',
  'short',
  '192.0.2.7',
  'a text that is longer',
  'caf\u00e9 \u20ac \ud83d\ude00 and more',
  '\x80\xff'.repeat(9),
])('the copy of %j is the same text', text => {
  expect(ownString(`before ${text} behind`.slice(7, 7 + text.length))).toBe(text);
});

test('copies of slices do not keep the original strings alive', () => {
  const kept: string[] = [];
  const before = usedBytes();
  for (let i = 0; i < 200; i++) {
    const head = Buffer.alloc(1_000_000, `${i} 2001:db8::1234 `).toString('latin1');
    kept.push(ownString(head.slice(500_000, 500_020)));
  }
  // The strings themselves would be 200 MB.
  expect(usedBytes() - before).toBeLessThan(20_000_000);
  expect(kept).toHaveLength(200);
});
