import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { ownMemory, type RestrictionReason, type TableMemory } from '../../../../src/core/index.ts';
import {
  AddressOffences,
  IgnoredRefusals,
  NO_OTHERS,
  type OffenceRule,
  parseQuota,
  Restrictions,
} from '../../../../src/limits/index.ts';
import { Random } from '../../../support/random.ts';
import { threadsOf } from '../../../support/shared-memory.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { limit } from '../stores.ts';

const LIMITS = [
  limit('5/10s', { bucket: 'things', main: 'id' }),
  limit('5/10s', { bucket: 'smooth', main: 'id', algorithm: 'smooth' }),
  limit('50/1s', { role: 'global' }),
];
const KEYS = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];

/** The offences of one gateway, counted by as many threads as there are memories. */
class Gateway {
  readonly restrictions: Restrictions;
  readonly #threads;
  /** Every restriction, in order. */
  readonly began: string[] = [];

  constructor(memories: readonly TableMemory[], clock: FrozenClock) {
    const quiet = { prolonged: () => {}, released: () => {}, evicted: () => {} };
    const restricted = ({ reason, key }: { readonly reason: RestrictionReason; readonly key: string }) =>
      void this.began.push(`${reason} ${key}`);
    this.restrictions = new Restrictions({ clock, listener: { ...quiet, restricted }, others: NO_OTHERS });
    this.#threads = memories.map(memory => {
      const options = { clock, randomBytes, memory, maxKeys: 1_000 };
      return {
        invalid: new AddressOffences(this.restrictions, 'invalid_requests', options),
        webhook: new AddressOffences(this.restrictions, 'webhook_not_found', options),
        ignored: new IgnoredRefusals(this.restrictions, options),
      };
    });
  }

  thread(at: number) {
    const found = this.#threads[at % this.#threads.length];
    if (found === undefined) throw new Error('there is no thread');
    return found;
  }

  use(rule: OffenceRule): void {
    for (const { invalid, webhook, ignored } of this.#threads) {
      invalid.use(rule);
      webhook.use(rule);
      ignored.use({ ...rule, addresses: true });
    }
  }
}

test('offences that three threads see restrict as if one had seen them all', () => {
  const random = new Random(26);
  const clock = new FrozenClock();
  const several = new Gateway(threadsOf(3), clock);
  const alone = new Gateway([ownMemory(randomBytes)], clock);
  const both = (act: (gateway: Gateway) => void) => {
    for (const gateway of [several, alone]) act(gateway);
    expect([several.began.length, several.began.at(-1)]).toEqual([alone.began.length, alone.began.at(-1)]);
  };
  const use = () => {
    const rule = { quota: parseQuota(`${3 + random.below(6)}/20s`), restrictForMs: 2_000 };
    both(gateway => gateway.use(rule));
  };
  use();
  for (let step = 0; step < 20_000; step++) {
    if (random.chance(0.1)) clock.advance(random.below(random.chance(0.05) ? 30_000 : 1_500));
    const [thread, key, webhook] = [random.below(3), random.pick(KEYS), `hook ${random.below(3)}`];
    const refusal = {
      ...{ address: key, principal: random.chance(0.5) ? `user:${key}` : null, limit: random.pick(LIMITS) },
      ...{ main: webhook, cost: 1 + random.below(2), waitMs: random.below(10_000) },
    };
    const what = random.next();
    if (what < 0.3) both(gateway => gateway.thread(thread).invalid.note(key));
    else if (what < 0.6) both(gateway => gateway.thread(thread).webhook.note(key, webhook));
    else if (what < 0.97) both(gateway => gateway.thread(thread).ignored.note(refusal));
    else if (what < 0.98) both(gateway => gateway.thread(thread).ignored.forgetWaits());
    else if (what < 0.995) both(({ restrictions }) => lift(restrictions));
    else use();
  }
  const reasons = new Set(alone.began.map(each => each.split(' ')[0]));
  expect([...reasons].sort()).toEqual(['ignored_refusals', 'invalid_requests', 'webhook_not_found']);
  expect(alone.began.length).toBeGreaterThan(100);
});

function lift(restrictions: Restrictions): void {
  for (const { digest } of [...restrictions.listed.all()]) restrictions.lift(digest);
}
