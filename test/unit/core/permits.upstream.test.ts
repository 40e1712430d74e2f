import { expect, test } from 'vitest';
import type { PoolModel, UpstreamPermit } from '../../../src/core/index.ts';
import { ownPermits, UpstreamPermits } from '../../../src/core/index.ts';

const API: PoolModel = { name: 'requests', upstream: 'api', max: 4, maxPerCaller: 2 };

/** A permit of the caller, which there has to be. */
function permit(permits: UpstreamPermits, caller: string, pool = API): UpstreamPermit {
  const taken = permits.take(pool, caller);
  if (typeof taken === 'object') return taken;
  throw new Error(`${caller} meets the cap ${taken}`);
}

/** The cap that each of these callers meets, in order; null: it gets a permit. */
function take(permits: UpstreamPermits, callers: string, pool = API): (string | null)[] {
  return [...callers].map(caller => {
    const taken = permits.take(pool, caller);
    return typeof taken === 'object' ? null : taken;
  });
}

test('a caller gets its share and no more, and the rest is for others', () => {
  const permits = new UpstreamPermits(ownPermits);
  const first = permit(permits, 'a');
  expect(take(permits, 'aab')).toEqual([null, 'share taken', null]);
  expect(permits.taken('api')).toBe(3);
  first.giveBack();
  expect(take(permits, 'aa')).toEqual([null, 'share taken']);
});

test('an upstream gets no more than its cap, however many callers there are', () => {
  const permits = new UpstreamPermits(ownPermits);
  const first = permit(permits, 'b');
  expect(take(permits, 'acde')).toEqual([null, null, null, 'full']);
  expect(permits.taken('api')).toBe(4);
  first.giveBack();
  // A caller that was refused has used nothing of its share.
  expect(take(permits, 'eb')).toEqual([null, 'full']);
});

test('a caller at its share is told so, and not that the upstream is full', () => {
  expect(take(new UpstreamPermits(ownPermits), 'aabba')).toEqual([null, null, null, null, 'share taken']);
});

test('upstreams are independent of each other', () => {
  const permits = new UpstreamPermits(ownPermits);
  take(permits, 'aabb');
  permit(permits, 'a', { ...API, upstream: 'other' }).giveBack();
  expect([permits.taken('other'), permits.taken('api')]).toEqual([0, 4]);
});

test('a permit returned twice is returned once', () => {
  const permits = new UpstreamPermits(ownPermits);
  const first = permit(permits, 'a');
  take(permits, 'a');
  first.giveBack();
  first.giveBack();
  expect(permits.taken('api')).toBe(1);
});

test('caps may change while permits are out', () => {
  const permits = new UpstreamPermits(ownPermits);
  take(permits, 'aabb');
  expect(take(permits, 'c', { ...API, max: 5 })).toEqual([null]);
  expect(take(permits, 'ac', { ...API, max: 9, maxPerCaller: 1 })).toEqual(['share taken', 'share taken']);
});
