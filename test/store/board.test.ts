import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { REVOCATION_LIMITS, Revocations } from '../../src/auth/index.ts';
import { revocableOf, sessionDigest } from '../../src/auth/revocation-rules.ts';
import { digestOf, systemClock } from '../../src/core/index.ts';
import { Board, RedisConnection } from '../../src/redis/index.ts';
import { POST } from '../../src/redis/sharing/board-scripts.ts';
import { shareRevocations } from '../../src/runtime/replication.ts';
import { realTime } from '../support/real-time.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';

realTime('it waits for what its gateway does now and then');

const ISSUER = 'https://id.example.com/realms/main';
const OTHER = 'https://id.example.com/realms/other';
const MAX = 50;

/** A gateway, as far as revocations go. */
interface Sharer {
  readonly all: Revocations;
  readonly board: Board;
  readonly health: { isShared: boolean };
}

let server: RedisServer;
let nowS = 0;
let boards = 0;
const clock = { ...systemClock, epochMs: () => nowS * 1_000 };

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.close());
beforeEach(async () => {
  await server.client.flushall();
  nowS = Math.floor(Date.now() / 1_000);
});

/** Resolves once it has read what is on the board. */
async function startSharer(): Promise<Sharer> {
  const connection = new RedisConnection(
    {
      servers: { kind: 'standalone', address: { host: '127.0.0.1', port: server.port }, database: 0 },
      credentials: { user: null, password: null },
      tls: null,
      prefix: 'b:',
      budgetMs: 5_000,
    },
    { clock: systemClock },
  );
  const health = { isShared: true, mention() {} };
  const onFault = (_facts: number, error: unknown) => {
    throw error;
  };
  const board = new Board({
    connection,
    health,
    clock,
    newId: () => `board ${boards++}`,
    onFault,
    onSubscribed: () => {},
  });
  const all = new Revocations({ ...REVOCATION_LIMITS, maxEntries: MAX }, clock, () => {});
  shareRevocations(board, all);
  onTestFinished(() => {
    board.stop();
    connection.stop();
  });
  connection.start();
  board.start();
  await expect.poll(() => board.isLoaded).toBe(true);
  return { all, board, health };
}

/** Sessions that users end, one a second, each the only one of its user. */
function endSessions({ all }: Sharer, from: number, to: number, issuer = ISSUER): void {
  for (let i = from; i < to; i += 1) {
    nowS += 1;
    all.of(issuer).endSession(sessionDigest(`session ${i}`), 0, digestOf(`user ${i}`));
  }
}

/** Which of these sessions' tokens, issued at the very beginning or now, the gateway refuses. */
function refused({ all }: Sharer, from: number, to: number, iat: number, issuer = ISSUER): number {
  let count = 0;
  for (let i = from; i < to; i += 1) {
    const claims = { iat, sub: `user ${i}`, sid: `session ${i}` };
    if (all.of(issuer).refusal(revocableOf({ claims, signingInput: '' })) !== null) count += 1;
  }
  return count;
}

const posted = (): Promise<string[]> => server.client.zrange('b:1:{board}:news', '0', '-1');

describe('revocations in Redis', () => {
  test('are no more than a gateway remembers, and one that starts later refuses all that were ever made', async () => {
    const startS = nowS;
    const first = await startSharer();
    endSessions(first, 0, 20, OTHER);
    endSessions(first, 0, 500);
    await expect.poll(() => first.board.outgoing).toBe(0);
    const names = await posted();
    expect(names.filter(name => name.includes(digestOf(ISSUER)))).toHaveLength(MAX + 1);
    expect(names.filter(name => name.includes(digestOf(OTHER)))).toHaveLength(20);
    expect(await server.client.zcard('b:1:{board}:values')).toBe(names.length);
    expect(await server.client.zcard('b:1:{board}:ends')).toBe(names.length);
    const later = await startSharer();
    expect(refused(later, 0, 500, startS)).toBe(500);
    expect(refused(later, 0, 500, nowS + 1)).toBe(0);
    // Another issuer's users did not have to sign in again.
    expect(refused(later, 0, 40, startS, OTHER)).toBe(20);
  });

  test('are no more when two gateways make them at once', async () => {
    const startS = nowS;
    const [one, two] = [await startSharer(), await startSharer()];
    for (let i = 0; i < 300; i += 30) {
      endSessions(one, i, i + 30);
      endSessions(two, 300 + i, 330 + i);
      await new Promise(resolve => setImmediate(resolve));
    }
    const known = () => [one, two].map(each => refused(each, 0, 600, startS));
    await expect.poll(known).toEqual([600, 600]);
    await expect.poll(async () => (await posted()).length).toBeLessThanOrEqual(MAX + 1);
    expect(refused(await startSharer(), 0, 600, startS)).toBe(600);
  });

  test('do not gather in a gateway whose Redis is away', async () => {
    const startS = nowS;
    const front = await startSharer();
    endSessions(front, 0, 80);
    await expect.poll(() => front.board.outgoing).toBe(0);
    front.health.isShared = false;
    endSessions(front, 80, 5_000);
    // What it remembers now, and that Redis has to forget what it remembered before.
    expect(front.board.outgoing).toBe(2 * MAX + 1);
    front.health.isShared = true;
    await expect.poll(() => front.board.outgoing).toBe(0);
    expect(await posted()).toHaveLength(MAX + 1);
    expect(refused(await startSharer(), 0, 5_000, startS)).toBe(5_000);
  });

  test.each(['state', 'values', 'ends', 'news'])(
    'are all there again when Redis has evicted the %s',
    async part => {
      const startS = nowS;
      const first = await startSharer();
      endSessions(first, 0, 40);
      await expect.poll(() => first.board.outgoing).toBe(0);
      await server.client.del(`b:1:{board}:${part}`);
      await expect.poll(async () => (await posted()).length).toBe(40);
      const sizes = () =>
        Promise.all(['values', 'ends', 'news'].map(each => server.client.zcard(`b:1:{board}:${each}`)));
      await expect.poll(sizes).toEqual([40, 40, 40]);
      expect(refused(await startSharer(), 0, 40, startS)).toBe(40);
    },
  );

  test('have their board again, when its state was evicted, though who posts knows nothing newer', async () => {
    const keys = ['state', 'values', 'ends', 'news'].map(part => `b:1:{board}:${part}`);
    const post = (id: string, forMs: number) =>
      server.client.eval(POST.source, keys.length, ...keys, id, 'channel', 'mark:ada', 5, forMs);
    await post('one', 60_000);
    await server.client.del('b:1:{board}:state');
    await post('two', 1_000);
    expect(await server.client.get('b:1:{board}:state')).toBe('two:1');
  });
});
