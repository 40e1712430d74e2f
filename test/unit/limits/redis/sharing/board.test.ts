import { beforeEach, describe, expect, test } from 'vitest';
import type { Fact } from '../../../../../src/core/index.ts';
import { REPLY_FORMAT } from '../../../../../src/limits/redis/connection/index.ts';
import { Board, type RedisConnection, RedisError } from '../../../../../src/limits/redis/index.ts';
import { POST } from '../../../../../src/limits/redis/sharing/board-scripts.ts';
import { FrozenClock } from '../../frozen-clock.ts';

/** Redis as a board sees it: what it was asked, and its next replies. */
class ScriptedRedis implements Pick<RedisConnection, 'prefix' | 'script' | 'subscribe'> {
  readonly prefix = 'p:';
  readonly posts: unknown[][] = [];
  readonly reads: unknown[][] = [];
  readonly replies: unknown[] = [];
  failing = false;
  poke: () => void = () => {};

  async script(script: { source: string }, _keys: readonly string[], ...args: readonly unknown[]) {
    if (this.failing) throw new RedisError('disconnected', 'away');
    if (script === POST) {
      this.posts.push(args.slice(2));
      return 'a';
    }
    this.reads.push(args.slice(0, 2));
    const reply = this.replies.length > 0 ? this.replies.shift() : ['', 0, 0];
    return Array.isArray(reply) ? [REPLY_FORMAT, ...reply] : reply;
  }

  subscribe(_channel: string, { message }: { message: (text: string) => void }): void {
    this.poke = () => message('');
  }
}

let clock: FrozenClock;
let redis: ScriptedRedis;
let isShared: boolean;
let mentioned: number;
let faults: [number, unknown][];
let learnt: Fact[];
let known: Fact[];
let board: Board;

beforeEach(() => {
  // What the board does now and then would come between on a busy machine.
  clock = new FrozenClock(Date.now());
  redis = new ScriptedRedis();
  isShared = true;
  mentioned = 0;
  faults = [];
  learnt = [];
  known = [];
  const health = {
    get isShared() {
      return isShared;
    },
    mention: () => void mentioned++,
  };
  board = new Board({
    connection: redis,
    health,
    clock,
    newId: () => 'new',
    onSubscribed: () => {},
    onFault: (skipped, error) => void faults.push([skipped, error]),
  });
  board.join('topic', { learn: fact => void learnt.push(fact), everything: () => known });
  board.start();
  return () => board.stop();
});

/** A message comes, and everything that follows has been done. */
async function poke(): Promise<void> {
  redis.poke();
  await settle();
}

async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise(resolve => setImmediate(resolve));
}

describe('reading', () => {
  test('continues where it stopped, portion by portion, and the board is loaded after the last', async () => {
    redis.replies.push(['a', 2, 1, 'topic:x', '7', 900], ['a', 3, 0, 'topic:y', '8', 800]);
    expect(board.isLoaded).toBe(false);
    await poke();
    expect(board.isLoaded).toBe(true);
    expect(redis.reads).toEqual([
      ['', 0],
      ['a', 2],
    ]);
    expect(learnt).toEqual([
      { name: 'x', value: 7, forMs: 900 },
      { name: 'y', value: 8, forMs: 800 },
    ]);
    await poke();
    expect(redis.reads.at(-1)).toEqual(['a', 3]);
  });

  test.each([
    ['no response at all', null],
    ['text', 'OK'],
    ['another list', [1, 2, 3]],
    ['an unsafe number', ['a', 1e300, 0]],
  ])('of %s is mentioned and changes nothing', async (_what, reply) => {
    redis.replies.push(reply);
    await poke();
    expect([board.isLoaded, mentioned, learnt]).toEqual([false, 1, []]);
  });

  test('skips facts that make no sense', async () => {
    redis.replies.push([
      'a',
      9,
      0,
      'topic:x',
      'seven',
      9,
      'topic:x',
      '7',
      -1,
      'else:x',
      '7',
      9,
      '',
      '7',
      9,
      'topic:z',
      '1',
      5,
    ]);
    await poke();
    expect(learnt).toEqual([{ name: 'z', value: 1, forMs: 5 }]);
  });
});

describe('a fact that cannot be applied', () => {
  test('is skipped and told, and takes no other with it', async () => {
    const broken = new TypeError('broken');
    board.join('bad', {
      learn: () => {
        throw broken;
      },
      everything: () => [],
    });
    redis.replies.push(['a', 4, 0, 'topic:x', '7', 9, 'bad:y', '7', 9, 'bad:z', '7', 9, 'topic:z', '8', 9]);
    await poke();
    expect(learnt.map(({ name }) => name)).toEqual(['x', 'z']);
    expect([faults, mentioned, board.isLoaded]).toEqual([[[2, broken]], 0, true]);
    await poke();
    expect(redis.reads.at(-1)).toEqual(['a', 4]);
  });

  test('is no error of Redis where all is told again either', async () => {
    const broken = new TypeError('broken');
    known = [{ name: 'topic:k', value: 1, forMs: 9 }];
    board.join('bad', {
      learn: () => {},
      everything: () => {
        throw broken;
      },
    });
    redis.replies.push(['a', 4, 0], ['b', 2, 0, 'topic:x', '7', 9]);
    await poke();
    await poke();
    expect([faults, mentioned, learnt.length]).toEqual([[[0, broken]], 0, 1]);
    expect(redis.posts).toEqual([['topic:k', 1, 9]]);
  });
});

describe('posting', () => {
  test('waits for Redis, and then states the remaining time', async () => {
    isShared = false;
    board.post({ name: 'topic:x', value: 1, forMs: 1_000 });
    await poke();
    expect([redis.posts, board.outgoing]).toEqual([[], 1]);
    clock.advance(400);
    isShared = true;
    await poke();
    expect([redis.posts, board.outgoing]).toEqual([[['topic:x', 1, 600]], 0]);
  });

  test('leaves out facts that have expired meanwhile', async () => {
    isShared = false;
    board.post({ name: 'topic:x', value: 1, forMs: 1_000 });
    clock.advance(1_000);
    isShared = true;
    await poke();
    expect([redis.posts, board.outgoing]).toEqual([[], 0]);
  });

  test('is repeated after a failure', async () => {
    redis.failing = true;
    board.post({ name: 'topic:x', value: 1, forMs: 1_000 });
    await poke();
    expect([mentioned > 0, board.outgoing]).toEqual([true, 1]);
    redis.failing = false;
    await poke();
    expect([redis.posts.length, board.outgoing]).toEqual([1, 0]);
  });

  test('of a smaller value after a larger one sends the larger', async () => {
    board.post({ name: 'topic:x', value: 2, forMs: 1_000 });
    board.post({ name: 'topic:x', value: 1, forMs: 9_000 });
    await poke();
    expect(redis.posts).toEqual([[['topic:x', 2, 1_000]].flat()]);
  });

  test('of many facts takes several commands', async () => {
    for (let i = 0; i < 450; i++) board.post({ name: `topic:${i}`, value: 1, forMs: 1_000 });
    await poke();
    expect(redis.posts.map(args => args.length / 3)).toEqual([200, 200, 50]);
  });
});

describe('a board that has lost its facts', () => {
  test('gets them again also if it was begun by the gateway and lost before the next read', async () => {
    await poke();
    const fact = { name: 'topic:k', value: 3, forMs: 700 };
    known = [fact];
    board.post(fact);
    await settle();
    expect(redis.posts).toHaveLength(1);
    await poke();
    expect(redis.posts).toHaveLength(2);
  });

  test.each([
    ['has another id', ['b', 9, 0]],
    ['is empty', ['', 0, 0]],
    ['has fewer facts', ['a', 4, 0]],
  ])('gets every known fact again if it %s', async (_how, reply) => {
    redis.replies.push(['a', 5, 0]);
    await poke();
    expect(redis.posts).toEqual([]);
    known = [{ name: 'topic:k', value: 3, forMs: 700 }];
    redis.replies.push(reply);
    await poke();
    expect(redis.posts).toEqual([['topic:k', 3, 700]]);
  });

  test('does not get them twice: a board started over by another gateway is not a loss', async () => {
    known = [{ name: 'topic:k', value: 3, forMs: 700 }];
    await poke();
    redis.replies.push(['b', 1, 0]);
    await poke();
    expect(redis.posts).toEqual([]);
  });
});
