import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import {
  type Decision,
  defineLimit,
  type Limit,
  type LimitOptions,
  type LimitRole,
  type LimitSet,
  MemoryStore,
  type MemoryStoreOptions,
  NO_LIMITS,
  parseQuota,
} from '../../../src/limits/index.ts';
import type { FrozenClock } from './frozen-clock.ts';

export function newStore(clock: FrozenClock, options: Partial<MemoryStoreOptions> = {}): MemoryStore {
  return new MemoryStore({ clock, randomBytes, maxKeys: 1_000, ...options });
}

/** A caller's limit of a bucket `b`, unless told otherwise. */
export function limit(quota: string, options: Partial<LimitOptions> = {}): Limit {
  return defineLimit({
    role: 'caller',
    bucket: 'b',
    main: null,
    algorithm: 'window',
    quota: parseQuota(quota),
    ...options,
  });
}

export function limits(set: Partial<LimitSet>): LimitSet {
  return { ...NO_LIMITS, ...set };
}

/** The window in which a request drew on the limit of this role; 0 if it drew nothing that can be returned. */
export function windowIn({ drawn }: Pick<Decision, 'drawn'>, role: LimitRole): number {
  return drawn.find(({ limit }) => limit.role === role)?.window ?? 0;
}

/** A copy: the store writes over what it answered. */
export function copyOf(decision: Decision): Decision {
  return { ...decision };
}

/** How many of this many requests in a row are admitted. */
export function admittedOf(requests: number, decide: () => Decision): number {
  let admitted = 0;
  for (let i = 0; i < requests; i++) if (decide().admitted) admitted++;
  return admitted;
}

/** All windows are over: nothing may be left of what was counted, and there is room for as many keys as at the start. */
export function expectAllRoom(store: MemoryStore, maxKeys: number): void {
  const caller = limit('1/18h');
  store.share([caller]);
  const { evictions, sharedOverflows } = store.counts;
  // Each question looks at a few counters, and frees those that are over.
  for (let i = 0; i < maxKeys; i++)
    expect(store.peek(limits({ caller }), `new ${i}`, '').admitted).toBe(true);
  expect(store.counts).toMatchObject({ keys: 0, callers: 0 });
  for (let i = 0; i < maxKeys; i++)
    expect(store.decide(limits({ caller }), `new ${i}`, '').admitted).toBe(true);
  expect(store.counts).toMatchObject({ keys: maxKeys, callers: maxKeys, evictions, sharedOverflows });
}
