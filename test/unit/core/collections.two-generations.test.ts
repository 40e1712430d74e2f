import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecentMap } from '../../../src/core/collections.ts';

describe('a map of two generations', () => {
  it('never holds more than its maximum, and never returns what was not put in', () => {
    const step = fc.tuple(fc.constantFrom('set', 'get', 'delete'), fc.nat(30));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), steps => {
        const map = new RecentMap<number>(10);
        const truth = new Map<string, number>();
        for (const [index, [action, number]] of steps.entries()) {
          const key = String(number);
          if (action === 'set') map.set(key, index);
          if (action === 'set') truth.set(key, index);
          if (action === 'delete') map.delete(key);
          if (action === 'delete') truth.delete(key);
          const found = map.get(key);
          if (found !== undefined) expect(found).toBe(truth.get(key));
          if (action === 'set') expect(found).toBe(index);
          expect(map.size).toBeLessThanOrEqual(10);
        }
      }),
    );
  });

  it('keeps an entry that is asked for, however many others come', () => {
    const map = new RecentMap<string>(10);
    map.set('wanted', 'here');
    for (let i = 0; i < 1_000; i += 1) {
      map.set(`other ${i}`, '');
      expect(map.get('wanted')).toBe('here');
    }
  });

  it('forgets an entry that is not asked for', () => {
    const map = new RecentMap<string>(10);
    map.set('unwanted', 'here');
    for (let i = 0; i < 10; i += 1) map.set(`other ${i}`, '');
    expect(map.get('unwanted')).toBeUndefined();
  });
});
