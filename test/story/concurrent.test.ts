import { describe, expect, test } from 'vitest';
import {
  BUCKET_FIELDS,
  fieldOf,
  type LimitedGateway,
  rateFieldsOf,
  rateOf,
  refusalOf,
  startLimited,
} from '../support/limits.ts';
import { agreement, handshake } from '../support/raw-web-sockets.ts';
import { head } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import type { RawClient, Script } from '../support/wire/index.ts';

const limits = {
  global: { user: '10000/1s', address: '10000/1s' },
  buckets: { exports: { user: '50/60s', concurrent: 2 }, bare: { concurrent: 1 } },
  routes: { '/exports/**': 'exports', '/bare/**': 'bare' },
};

/** Answers everything but paths with `held` in them: those wait until their connection is gone. Opens WebSockets. */
const holding: Script = async exchange => {
  const { target } = exchange.request;
  if (target.includes('socket')) await exchange.send(agreement());
  if (target.includes('socket') || target.includes('held')) {
    await exchange.gone;
    return;
  }
  await exchange.received();
  await exchange.answer(200, [], 'ok');
};

/** Sends a request that stays in flight, and waits until it is upstream. */
async function hold(front: LimitedGateway, text: string): Promise<RawClient> {
  const client = await front.gateway.connect();
  const before = front.upstream.requests.length;
  await client.send(text);
  await waitFor('it is upstream', () => front.upstream.requests.length > before);
  return client;
}

const start = () =>
  startLimited(limits, { upstream: holding, routes: [{ path: '/bare/socket', websocket: true }] });

describe('a bucket with "concurrent"', () => {
  test('refuses one more request of a caller while so many are in flight, until one has gone', async () => {
    const front = await start();
    const bearer = front.issuer.bearer();
    const ask = (line = bearer) => front.gateway.ask(head('GET /exports/a', line));
    const first = await hold(front, head('GET /exports/held', bearer));
    await hold(front, head('GET /exports/held', bearer));
    const refused = await ask();
    expect(refusalOf(refused)).toMatchObject({ retry_after: 1, global: false });
    expect(rateOf(refused)).toMatchObject({ limit: 50, remaining: 48, scope: 'shared' });
    expect(rateFieldsOf(refused)).toEqual([...BUCKET_FIELDS, 'retry-after'].sort());
    expect((await ask(front.issuer.bearer({ sub: 'bob' }))).status).toBe(200);
    first.reset();
    await waitFor('there is room again', async () => (await ask()).status === 200);
    // What was refused drew on nothing.
    const counted = front.upstream.requests.filter(({ target }) => target.startsWith('/exports/')).length - 1;
    expect(rateOf(await ask()).remaining).toBe(50 - counted - 1);
  });

  test('says no more than its scope where it has no quota', async () => {
    const front = await start();
    const bearer = front.issuer.bearer();
    await hold(front, head('GET /bare/held', bearer));
    const refused = await front.gateway.ask(head('GET /bare/a', bearer));
    expect(refusalOf(refused)).toMatchObject({ retry_after: 1, global: false });
    expect(rateFieldsOf(refused)).toEqual(['retry-after', 'x-ratelimit-scope']);
    expect(fieldOf(refused, 'x-ratelimit-scope')).toBe('shared');
  });

  test('counts a WebSocket until it is closed', async () => {
    const front = await start();
    const bearer = front.issuer.bearer();
    const socket = await hold(front, handshake('/bare/socket', bearer));
    await waitFor('it is open', () => socket.received.includes('101 Switching'));
    expect((await front.gateway.ask(head('GET /bare/a', bearer))).status).toBe(429);
    socket.reset();
    await waitFor(
      'there is room again',
      async () => (await front.gateway.ask(head('GET /bare/a', bearer))).status === 200,
    );
  });
});
