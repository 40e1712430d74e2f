import { beforeEach, describe, expect, test } from 'vitest';
import {
  type AnonymousRestriction,
  type Lift,
  type Restricted,
  Restrictions,
} from '../../../../src/limits/index.ts';
import { anAddress, beyond } from '../../../support/restricted-clients.ts';
import { FrozenClock } from '../frozen-clock.ts';

const A = '192.0.2.1';
const TEN_SECONDS = 10_000;
const invalid: Restricted = { kind: 'address', key: A, webhook: '', reason: 'invalid_requests' };
const onWebhook = (n: number): Restricted => ({
  ...{ kind: 'webhook', key: A, webhook: `hook${n}`, reason: 'webhook_not_found' },
});

let clock: FrozenClock;

beforeEach(() => {
  clock = new FrozenClock();
});

/** What one thread knows, or another process of one thread. */
class Thread extends Restrictions {
  readonly heard: string[] = [];
  readonly announced: AnonymousRestriction[] = [];
  readonly lifts: Lift[] = [];
  /** The clients that it named to the other threads. */
  readonly met: AnonymousRestriction[] = [];
  /** Whose offences it forgets for all threads, and whose it leaves to another one. */
  readonly forgets: string[] = [];
  readonly leaves: string[] = [];

  constructor(isMain: boolean) {
    const hear = (what: string) => (by: Restricted) =>
      void this.heard.push(`${what} ${[by.key, by.webhook].join(' ').trim()}`);
    super({
      clock,
      listener: {
        ...{ restricted: hear('restricted'), prolonged: hear('prolonged'), released: hear('released') },
        evicted: () => {},
      },
      others: {
        isMain,
        began: each => this.announced.push(each),
        lifted: each => this.lifts.push(each),
        evicted: () => {},
        met: each => this.met.push(each),
      },
    });
    this.onLift(({ key }, isResponsible) => void (isResponsible ? this.forgets : this.leaves).push(key));
  }

  hear(facts: AnonymousRestriction[]): void {
    for (const each of facts.splice(0)) this.gossip.adopt(each);
  }
}

describe('of several threads that share restrictions', () => {
  test('each knows the client by name when one restricts it, and refuses it until the same millisecond', () => {
    const [first, second] = [new Thread(true), new Thread(false)];
    first.restrict(invalid, TEN_SECONDS);
    first.restrict(onWebhook(1), TEN_SECONDS);
    clock.advance(400);
    second.hear(first.announced);
    expect(second.heard).toEqual([`restricted ${A}`, `restricted ${A} hook1`]);
    expect([second.size, second.adopted]).toEqual([2, 0]);
    for (const each of [first, second])
      expect([each.waitMs(anAddress(A)), each.webhookWaitMs(A, 'hook1')]).toEqual([9_600, 9_600]);
    // The news that comes back changes nothing.
    for (const each of second.gossip.running()) first.gossip.adopt({ ...each, forMs: TEN_SECONDS });
    expect([first.waitMs(anAddress(A)), first.heard.length]).toEqual([9_600, 2]);
    expect([first.met, second.met, second.announced]).toEqual([[], [], []]);
  });

  test('each hears of every millisecond by which one prolongs it, where other processes leave out a quarter of a second', () => {
    const [first, second, elsewhere] = [new Thread(true), new Thread(false), new Thread(true)];
    first.restrict(invalid, TEN_SECONDS);
    second.hear(first.announced);
    elsewhere.restrict(invalid, TEN_SECONDS);
    const [told] = elsewhere.announced;
    for (const forMs of [TEN_SECONDS + 1, TEN_SECONDS + 3]) {
      first.restrict(invalid, forMs);
      second.hear(first.announced);
      expect([second.waitMs(anAddress(A)), second.heard.at(-1)]).toEqual([forMs, `prolonged ${A}`]);
    }
    if (told !== undefined) elsewhere.gossip.adopt({ ...beyond(told), forMs: TEN_SECONDS + 250 });
    expect(elsewhere.waitMs(anAddress(A))).toBe(TEN_SECONDS);
    if (told !== undefined) elsewhere.gossip.adopt({ ...beyond(told), forMs: TEN_SECONDS + 251 });
    expect(elsewhere.waitMs(anAddress(A))).toBe(TEN_SECONDS + 251);
  });

  test('each hears that one begins anew after another that is over, though none was swept', () => {
    const [first, second] = [new Thread(true), new Thread(false)];
    for (let times = 0; times < 2; times++) {
      first.restrict(invalid, TEN_SECONDS);
      second.hear(first.announced);
      clock.advance(TEN_SECONDS);
    }
    for (const { heard } of [first, second])
      expect(heard).toEqual([`restricted ${A}`, `released ${A}`, `restricted ${A}`]);
  });

  test('the one that meets a client which another process restricted names it to the others, which need not meet it', () => {
    const [elsewhere, first, second] = [new Thread(true), new Thread(true), new Thread(false)];
    elsewhere.restrict(invalid, TEN_SECONDS);
    elsewhere.restrict(onWebhook(1), TEN_SECONDS);
    for (const each of elsewhere.announced.splice(0))
      for (const thread of [first, second]) thread.gossip.adopt(beyond(each));
    clock.advance(100);
    for (let i = 0; i < 2; i++)
      expect([first.waitMs(anAddress(A)), first.webhookWaitMs(A, 'hook1')]).toEqual([9_900, 9_900]);
    expect([first.met.length, second.adopted, second.heard]).toEqual([2, 2, []]);
    second.hear(first.met);
    expect([second.adopted, second.heard]).toEqual([0, [`restricted ${A}`, `restricted ${A} hook1`]]);
    expect([second.waitMs(anAddress(A)), second.webhookWaitMs(A, 'hook1')]).toEqual([9_900, 9_900]);
    expect(second.met).toEqual([]);
    const sparing = new Thread(true);
    sparing.neverRestrict(() => true);
    for (const each of elsewhere.gossip.running()) sparing.gossip.adopt(beyond(each));
    expect([sparing.waitMs(anAddress(A)), sparing.met]).toEqual([0, []]);
  });

  test('the one that lifts a restriction forgets the offences of its client, or the main one if another process did', () => {
    const [elsewhere, main, worker] = [new Thread(true), new Thread(true), new Thread(false)];
    const restrict = () => {
      elsewhere.restrict(invalid, TEN_SECONDS);
      for (const each of elsewhere.announced.splice(0))
        for (const thread of [main, worker]) thread.gossip.adopt(beyond(each));
      expect([main, worker].map(thread => thread.waitMs(anAddress(A)))).toEqual([TEN_SECONDS, TEN_SECONDS]);
    };
    const liftAt = (lifting: Thread) => {
      for (const { digest } of [...lifting.listed.all()]) lifting.lift(digest);
      for (const lift of lifting.lifts.splice(0))
        for (const each of [elsewhere, main, worker]) each.gossip.adoptLift(lift);
    };
    restrict();
    liftAt(elsewhere);
    expect([elsewhere, main, worker].map(each => each.forgets.length)).toEqual([1, 1, 0]);
    expect(worker.leaves).toEqual([A]);
    restrict();
    liftAt(worker);
    expect([worker.forgets, worker.leaves, main.leaves]).toEqual([[A], [A], []]);
  });
});
