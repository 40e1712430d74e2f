import { expect, test } from 'vitest';
import { UpstreamPermits } from '../../../src/gateway/upstream-permits.ts';

const API = { name: 'api', maxRequests: 4, maxRequestsPerCaller: 2 };

/** What each of these callers is told, in their order. */
function take(permits: UpstreamPermits, callers: string, upstream = API): (string | null)[] {
  return [...callers].map(caller => permits.take(upstream, caller));
}

test('a caller gets its share and no more, and what it has to spare is for others', () => {
  const permits = new UpstreamPermits();
  expect(take(permits, 'aaab')).toEqual([null, null, 'max_requests_per_caller', null]);
  expect(permits.taken('api')).toBe(3);
  permits.giveBack('api', 'a');
  expect(take(permits, 'aa')).toEqual([null, 'max_requests_per_caller']);
});

test('an upstream gets no more than it takes, however many callers there are', () => {
  const permits = new UpstreamPermits();
  expect(take(permits, 'abcde')).toEqual([null, null, null, null, 'max_requests']);
  expect(permits.taken('api')).toBe(4);
  permits.giveBack('api', 'b');
  // The share of who was refused is what it was.
  expect(take(permits, 'eb')).toEqual([null, 'max_requests']);
});

test('who holds its share is told that, and not that the upstream is full', () => {
  expect(take(new UpstreamPermits(), 'aabba')).toEqual([null, null, null, null, 'max_requests_per_caller']);
});

test('upstreams do not draw on each other', () => {
  const permits = new UpstreamPermits();
  take(permits, 'aabb');
  expect(take(permits, 'a', { ...API, name: 'other' })).toEqual([null]);
  permits.giveBack('other', 'a');
  expect([permits.taken('other'), permits.taken('api')]).toEqual([0, 4]);
});

test('caps may change while permits are out', () => {
  const permits = new UpstreamPermits();
  take(permits, 'aabb');
  expect(take(permits, 'c', { ...API, maxRequests: 5 })).toEqual([null]);
  expect(take(permits, 'ac', { ...API, maxRequests: 9, maxRequestsPerCaller: 1 })).toEqual([
    'max_requests_per_caller',
    'max_requests_per_caller',
  ]);
});
