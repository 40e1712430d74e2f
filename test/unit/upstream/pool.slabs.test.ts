import { describe, expect, test } from 'vitest';
import { SlabStore } from '../../../src/upstream/pool.ts';

describe('a slab', () => {
  test('is taken again once it is let go and every view was given back', () => {
    const store = new SlabStore();
    const slab = store.take();
    slab.lend(0, 10);
    slab.lend(10, 20);
    slab.detach();
    expect(store.size).toBe(0);
    slab.release();
    expect(store.size).toBe(0);
    slab.release();
    expect(store.size).toBe(1);
    expect(store.take()).toBe(slab);
    expect(store.take()).not.toBe(slab);
  });

  test('stays with its holder when its views are given back first', () => {
    const store = new SlabStore();
    const slab = store.take();
    slab.lend(0, 10);
    expect(slab.lent).toBe(true);
    slab.release();
    expect(slab.lent).toBe(false);
    expect(store.size).toBe(0);
    slab.detach();
    expect(store.size).toBe(1);
  });

  test('is held again when it was taken again', () => {
    const store = new SlabStore();
    const slab = store.take();
    slab.detach();
    store.take().lend(0, 10);
    slab.release();
    expect(store.size).toBe(0);
  });

  test('is not taken again after a failed write: the socket may still read it', () => {
    const store = new SlabStore();
    const slab = store.take();
    slab.lend(0, 10);
    slab.detach();
    slab.release(new Error('write failed'));
    slab.release(null);
    expect(store.size).toBe(1);
    const other = store.take();
    other.lend(0, 10);
    other.detach();
    other.release(new Error('write failed'));
    expect(store.size).toBe(0);
  });

  test('lends its own bytes', () => {
    const slab = new SlabStore().take();
    const view = slab.lend(5, 8);
    slab.bytes.write('abc', 5);
    expect(view.toString()).toBe('abc');
  });
});

test('a store lets go of the slabs that were not needed since the last time', () => {
  const store = new SlabStore();
  const slabs = Array.from({ length: 5 }, () => store.take());
  for (const slab of slabs) slab.detach();
  store.trim();
  expect(store.size).toBe(5);
  // Two are needed in this time, so that three are not.
  const used = [store.take(), store.take()];
  for (const slab of used) slab.detach();
  store.trim();
  expect(store.size).toBe(2);
  store.trim();
  expect(store.size).toBe(0);
});
