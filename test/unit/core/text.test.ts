import { expect, test } from 'vitest';
import { ownString } from '../../../src/core/index.ts';

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
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 200; i++) {
    const head = Buffer.alloc(1_000_000, `${i} 2001:db8::1234 `).toString('latin1');
    kept.push(ownString(head.slice(500_000, 500_020)));
  }
  // A scavenge or two has come by; the strings themselves would be 200 MB.
  expect(kept).toHaveLength(200);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(120_000_000);
});
