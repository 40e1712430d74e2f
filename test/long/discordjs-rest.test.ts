import { REST } from '@discordjs/rest';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type LimitedGateway, startLimited } from '../support/limits.ts';

/**
 * A client library of this header family, unmodified: it queues by bucket, paces itself by Remaining and Reset-After, keeps
 * to a number of requests a second in all, and waits as a 429 says.
 */
function clientOf({ gateway }: LimitedGateway, token: string, globalRequestsPerSecond = 25): REST {
  const rest = new REST({
    api: `http://127.0.0.1:${gateway.port}`,
    version: '1',
    authPrefix: 'Bearer',
    // Adds nothing to the waits that the gateway announces.
    offset: 0,
    // The library's seconds begin when it sends, the gateway's when a request arrives. Where a busy machine holds requests
    // up for longer than the slack, two of the library's seconds meet in one of the gateway's.
    globalRequestsPerSecond,
  }).setToken(token);
  onTestFinished(() => {
    rest.clearHashSweeper();
    rest.clearHandlerSweeper();
  });
  return rest;
}

/** How many responses of each kind the gateway gave. */
async function responsesOf({ gateway }: LimitedGateway): Promise<{ admitted: number; refused: number }> {
  let [admitted, refused] = [0, 0];
  for (const [labels, count] of await gateway.metric('weir_limit_decisions_total')) {
    if (labels.includes('outcome="admitted"')) admitted += count;
    else refused += count;
  }
  return { admitted, refused };
}

const limits = {
  // Fields that the library does not know do not disturb it.
  headers: ['x-ratelimit', 'ratelimit'],
  bucket_hash: 'route',
  global: { user: '50/1s' },
  buckets: {
    'messages.read': { main: 'channel', user: '20/5s' },
    'messages.write': { main: 'channel', user: '5/5s' },
  },
  routes: {
    'GET /v1/channels/{channel}/messages': 'messages.read',
    'POST /v1/channels/{channel}/messages': 'messages.write',
  },
};
const json: Parameters<typeof startLimited>[1] = {
  upstream: exchange => exchange.answer(200, ['Content-Type', 'application/json'], '{}'),
};
const CHANNELS = Array.from({ length: 4 }, (_, i) => `10000000000000000${i}`);

describe('@discordjs/rest', () => {
  test('works through six windows at full speed and meets no 429', { timeout: 300_000 }, async () => {
    const front = await startLimited(limits, json);
    const rest = clientOf(front, front.issuer.token());
    const windows = 6;
    // One worker a route and channel: the library queues what its bucket does not admit yet.
    const worker = async (times: number, send: () => Promise<unknown>) => {
      for (let i = 0; i < times; i++) await send();
    };
    await Promise.all(
      CHANNELS.flatMap(id => [
        worker(windows * 20, () => rest.get(`/channels/${id}/messages`)),
        worker(windows * 5, () => rest.post(`/channels/${id}/messages`, { body: { content: 'hello' } })),
      ]),
    );
    expect(await responsesOf(front)).toEqual({ admitted: CHANNELS.length * windows * 25, refused: 0 });
  });

  test('works through two windows at once and meets no 429', { timeout: 300_000 }, async () => {
    const buckets = { exports: { main: 'channel', user: ['3/1s', '8/4s'] } };
    const routes = { 'GET /v1/channels/{channel}/exports': 'exports' };
    const front = await startLimited({ ...limits, buckets, routes }, json);
    const rest = clientOf(front, front.issuer.token());
    const requests = 3 * 8;
    await Promise.all(
      CHANNELS.flatMap(id => Array.from({ length: requests }, () => rest.get(`/channels/${id}/exports`))),
    );
    expect(await responsesOf(front)).toEqual({ admitted: CHANNELS.length * requests, refused: 0 });
  });

  test('waits as announced when another client shares its caller, and gets through', async () => {
    const front = await startLimited(limits, json);
    const token = front.issuer.token();
    const [one, two] = [clientOf(front, token), clientOf(front, token)];
    const writes = [one, two].flatMap(rest =>
      Array.from({ length: 6 }, () => rest.post('/channels/1/messages', { body: {} })),
    );
    await Promise.all(writes);
    expect(front.upstream.requests).toHaveLength(12);
    const { refused } = await responsesOf(front);
    // A refused client waits for the next window and never sends twice in vain in one.
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThanOrEqual(4);
  });

  test('recognizes the refusal of the global limit, and waits as long as it says', async () => {
    const front = await startLimited({ ...limits, global: { user: '2/2s' } }, json);
    const rest = clientOf(front, front.issuer.token());
    const told: unknown[] = [];
    rest.on('rateLimited', info => told.push(info));
    await Promise.all(CHANNELS.slice(0, 3).map(id => rest.get(`/channels/${id}/messages`)));
    expect(told[0]).toMatchObject({ global: true });
    expect((await responsesOf(front)).refused).toBe(1);
  });

  // It counts more a second than the gateway admits, as it does for a moment where its second and the gateway's do not meet.
  test('floods the global limit, and with patience meets none of the 429s that it meets without', async () => {
    // By chance they meet.
    let without = 0;
    for (let flood = 0; flood < 10 && without === 0; flood++) without = await floodedWith({});
    expect(without).toBeGreaterThan(0);
    expect(await floodedWith({ patience: '1s' })).toBe(0);
  });
});

/** How many 429s the library meets when it sends the requests of two seconds at once. */
async function floodedWith(more: { readonly patience?: string }): Promise<number> {
  const front = await startLimited({ global: { user: '50/1s' }, ...more }, json);
  const rest = clientOf(front, front.issuer.token(), 100);
  await Promise.all(
    Array.from({ length: 100 }, (_, i) => rest.get(`/channels/${10n ** 17n + BigInt(i)}/messages`)),
  );
  expect(front.upstream.requests).toHaveLength(100);
  return (await responsesOf(front)).refused;
}
