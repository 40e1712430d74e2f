import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { alone, digestOf, thisMachine } from '../../src/core/index.ts';
import { shareRevocations } from '../../src/gateway/runtime/replication.ts';
import { REVOCATION_LIMITS, Revocations } from '../../src/identity/auth/index.ts';
import { revocableOf, sessionDigest } from '../../src/identity/auth/revocation-rules.ts';
import { Board, RedisConnection } from '../../src/limits/redis/index.ts';
import { POST } from '../../src/limits/redis/sharing/board-scripts.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

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
let clock: FrozenClock;
let boards = 0;

const nowS = () => Math.floor(clock.epochMs() / 1_000);

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.close());
beforeEach(async () => {
  await server.client.flushall();
  clock = new FrozenClock();
});

/** Resolves once it has read what is on the board. */
async function startSharer(): Promise<Sharer> {
  const connection = new RedisConnection(
    {
      servers: { kind: 'standalone', address: { host: '127.0.0.1', port: server.port }, database: 0 },
      credentials: { user: null, password: null },
      tls: null,
      prefix: 'weir:b:',
      // Longer than it may take Redis while the clock advances.
      budgetMs: 3_600_000,
    },
    { clock },
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
  const part = alone({ ...thisMachine, clock });
  part.carry(board);
  shareRevocations(part, all);
  onTestFinished(() => {
    board.stop();
    connection.stop();
  });
  connection.start();
  board.start();
  await clock.advanceUntil('it has read the board', () => board.isLoaded);
  return { all, board, health };
}

/** Sessions that users end, one a second, each the only one of its user. */
function endSessions({ all }: Sharer, from: number, to: number, issuer = ISSUER): void {
  for (let i = from; i < to; i += 1) {
    clock.stepWorld(1_000);
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

const sent = ({ board }: Sharer) => clock.advanceUntil('all is sent', () => board.outgoing === 0);

const posted = (): Promise<string[]> => server.client.zrange('weir:b:1:{board}:news', '0', '-1');

describe('revocations in Redis', () => {
  test('are no more than a gateway remembers, and one that starts later refuses all that were ever made', async () => {
    const startS = nowS();
    const first = await startSharer();
    endSessions(first, 0, 20, OTHER);
    endSessions(first, 0, 500);
    await sent(first);
    const names = await posted();
    expect(names.filter(name => name.includes(digestOf(ISSUER)))).toHaveLength(MAX + 1);
    expect(names.filter(name => name.includes(digestOf(OTHER)))).toHaveLength(20);
    expect(await server.client.zcard('weir:b:1:{board}:values')).toBe(names.length);
    expect(await server.client.zcard('weir:b:1:{board}:ends')).toBe(names.length);
    const later = await startSharer();
    expect(refused(later, 0, 500, startS)).toBe(500);
    expect(refused(later, 0, 500, nowS() + 1)).toBe(0);
    // Another issuer's users did not have to sign in again.
    expect(refused(later, 0, 40, startS, OTHER)).toBe(20);
  });

  test('are no more when two gateways make them at once', async () => {
    const startS = nowS();
    const [one, two] = [await startSharer(), await startSharer()];
    for (let i = 0; i < 300; i += 30) {
      endSessions(one, i, i + 30);
      endSessions(two, 300 + i, 330 + i);
      await new Promise(resolve => setImmediate(resolve));
    }
    const know = () => [one, two].every(each => refused(each, 0, 600, startS) === 600);
    await clock.advanceUntil('both know all of them', know);
    await clock.advanceUntil('Redis has no more', async () => (await posted()).length <= MAX + 1);
    expect(refused(await startSharer(), 0, 600, startS)).toBe(600);
  });

  test('do not gather in a gateway whose Redis is away', async () => {
    const startS = nowS();
    const front = await startSharer();
    endSessions(front, 0, 80);
    await sent(front);
    front.health.isShared = false;
    endSessions(front, 80, 5_000);
    // What it remembers now, and that Redis has to forget what it remembered before.
    expect(front.board.outgoing).toBe(2 * MAX + 1);
    front.health.isShared = true;
    await sent(front);
    expect(await posted()).toHaveLength(MAX + 1);
    expect(refused(await startSharer(), 0, 5_000, startS)).toBe(5_000);
  });

  test.each(['state', 'values', 'ends', 'news'])(
    'are all there again when Redis has evicted the %s',
    async part => {
      const startS = nowS();
      const first = await startSharer();
      endSessions(first, 0, 40);
      await sent(first);
      await server.client.del(`weir:b:1:{board}:${part}`);
      const sizes = () =>
        Promise.all(['values', 'ends', 'news'].map(each => server.client.zcard(`weir:b:1:{board}:${each}`)));
      await clock.advanceUntil('all are there again', async () => (await sizes()).every(size => size === 40));
      expect(refused(await startSharer(), 0, 40, startS)).toBe(40);
    },
  );

  test('have their board again, when its state was evicted, though who posts knows nothing newer', async () => {
    const keys = ['state', 'values', 'ends', 'news'].map(part => `weir:b:1:{board}:${part}`);
    const post = (id: string, forMs: number) =>
      server.client.eval(POST.source, keys.length, ...keys, id, 'channel', 'mark:ada', 5, forMs);
    await post('one', 60_000);
    await server.client.del('weir:b:1:{board}:state');
    await post('two', 1_000);
    expect(await server.client.get('weir:b:1:{board}:state')).toBe('two:1');
  });
});
