import { beforeEach, describe, expect, it } from 'vitest';
import type { OutReason } from '../../../../src/core/index.ts';
import { EndpointHealth } from '../../../../src/upstream/balancing/endpoint-health.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

let clock: FrozenClock;
let heard: (OutReason | null)[];
let mayEject: boolean;
let health: EndpointHealth;

beforeEach(() => {
  clock = new FrozenClock();
  heard = [];
  mayEject = true;
  const watch = { mayEject: () => mayEject, changed: (reason: OutReason | null) => void heard.push(reason) };
  health = new EndpointHealth(watch, () => 0);
});

const now = () => clock.monotonicMs();
const refuse = (times: number) => {
  for (let i = 0; i < times; i++) health.connectFailed(new Error('ECONNREFUSED'), now());
};
const spoil = (times: number) => {
  for (let i = 0; i < times; i++) health.answeredBadly(null, now());
};
/** Lets time pass, and looks at the endpoint. */
const outAfter = (ms: number) => {
  clock.advance(ms);
  health.review(now());
  return health.outFor;
};

describe('an endpoint', () => {
  it('is ejected after three connect failures in a row, for ten seconds', () => {
    refuse(2);
    expect(health.outFor).toBeNull();
    refuse(1);
    expect(health.outFor).toBe('connect_failures');
    expect(outAfter(9_999)).toBe('connect_failures');
    expect(outAfter(1)).toBeNull();
    expect(heard).toEqual(['connect_failures', null]);
  });

  it('is ejected after five bad answers in a row', () => {
    spoil(4);
    expect(health.outFor).toBeNull();
    spoil(1);
    expect(health.outFor).toBe('bad_answers');
  });

  it('is not ejected if a good answer comes in between', () => {
    spoil(4);
    health.answeredWell();
    spoil(4);
    refuse(2);
    health.answeredWell();
    refuse(2);
    expect(health.outFor).toBeNull();
  });

  it('is not forgiven bad answers for heads that it sends and never finishes', () => {
    for (let i = 0; i < 5; i++) {
      health.reached();
      spoil(1);
    }
    expect(health.outFor).toBe('bad_answers');
  });

  it('is not forgiven bad answers for a connect failure in between', () => {
    spoil(4);
    refuse(1);
    spoil(1);
    expect(health.outFor).toBe('bad_answers');
  });

  it('has one failure for all requests that failed with one connection', () => {
    const cause = new Error('reset');
    for (let i = 0; i < 100; i++) health.answeredBadly(cause, now());
    for (let i = 0; i < 100; i++) health.connectFailed(cause, now());
    expect(health.outFor).toBeNull();
  });

  it('is ejected for twice as long each time, up to five minutes', () => {
    const lasted = Array.from({ length: 8 }, () => {
      refuse(3);
      const fromMs = now();
      const untilMs = health.review(fromMs);
      outAfter(untilMs - fromMs);
      expect(health.outFor).toBeNull();
      return Math.round((untilMs - fromMs) / 1_000);
    });
    expect(lasted).toEqual([10, 20, 40, 80, 160, 300, 300, 300]);
  });

  it('begins with ten seconds again once it was used for as long as it was ejected', () => {
    for (let i = 0; i < 3; i++) {
      refuse(3);
      outAfter(300_000);
    }
    refuse(3);
    expect(Math.round((health.review(now()) - now()) / 1_000)).toBe(10);
  });

  it('is ejected up to a fifth less long by chance', () => {
    health = new EndpointHealth({ mayEject: () => true, changed() {} }, () => 0.999_999);
    refuse(3);
    expect(Math.round(health.review(now()) - now())).toBe(8_000);
  });

  it('is not ejected where too many are out, and at its next failure where that is over', () => {
    mayEject = false;
    refuse(5);
    expect(health.outFor).toBeNull();
    mayEject = true;
    refuse(1);
    expect(health.outFor).toBe('connect_failures');
  });

  it('is not ejected anew by requests that were under way', () => {
    refuse(3);
    refuse(30);
    spoil(30);
    expect(outAfter(10_000)).toBeNull();
    expect(heard).toEqual(['connect_failures', null]);
  });

  it('is out while its health checks fail, ejected or not', () => {
    health.checked(false, now());
    expect(health.outFor).toBe('check');
    refuse(3);
    expect(outAfter(10_000)).toBe('check');
    health.checked(true, now());
    expect(health.outFor).toBeNull();
    health.checked(true, now());
    expect(heard.at(-1)).toBeNull();
  });

  it('stays ejected though its health checks succeed', () => {
    refuse(3);
    health.checked(false, now());
    health.checked(true, now());
    expect(health.outFor).toBe('connect_failures');
  });

  it('comes back with a tenth of its share, which grows to the whole in thirty seconds', () => {
    expect(health.share(now())).toBe(1);
    refuse(3);
    outAfter(10_000);
    expect(health.share(now())).toBe(0.1);
    expect(health.review(now())).toBe(now() + 1_000);
    clock.advance(15_000);
    expect(health.share(now())).toBeCloseTo(0.5);
    clock.advance(15_000);
    expect(health.share(now())).toBe(1);
    expect(health.review(now())).toBe(Number.POSITIVE_INFINITY);
  });

  it('that is new among others starts slowly as well', () => {
    health.startSlowly(now());
    expect(health.share(now())).toBe(0.1);
  });
});
