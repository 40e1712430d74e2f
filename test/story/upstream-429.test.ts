import { describe, expect, test } from 'vitest';
import { STORY_WORKERS } from '../support/gateway.ts';
import {
  askOnce,
  askTimes,
  BUCKET_FIELDS,
  fieldOf,
  type LimitedGateway,
  rateFieldsOf,
  rateOf,
  refusalOf,
  startLimited,
} from '../support/limits.ts';
import { head } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import type { Script } from '../support/wire/index.ts';

/** A connection rests for 125 ms after a 429. */
async function rested({ gateway }: LimitedGateway): Promise<void> {
  gateway.time.advance(200);
  await new Promise(setImmediate);
}

const limits = { buckets: { reads: { user: '5/60s' } }, routes: { 'GET /things': 'reads' } };

const startWith = (upstream: Script): Promise<LimitedGateway> =>
  startLimited(limits, { upstream, routes: [{ path: '/passing', upstream_429: 'pass' }] });

const SPOKEN = ['Retry-After', '7', 'X-RateLimit-Scope', 'user', 'Content-Type', 'application/json'];
const BODY = '{"message":"theirs","retry_after":6.5,"global":false}';
const FOREIGN = ['Retry-After', '2.5', 'Content-Type', 'text/html', 'ETag', '"e"', 'Set-Cookie', 'a=b'];

const ask = (front: LimitedGateway, target = 'GET /things') => askOnce(front, target, front.issuer.bearer());

/** The start of a 429. */
function head429(fields: readonly string[], ...lines: string[]): string {
  const parts = fields.flatMap((part, i) => (i % 2 === 0 ? [`${part}: ${fields[i + 1]}`] : []));
  return `HTTP/1.1 429 Slow\r\n${[...parts, ...lines].join('\r\n')}\r\n\r\n`;
}

const inChunks = (pieces: readonly string[]) =>
  [...pieces, ''].map(piece => `${piece.length.toString(16)}\r\n${piece}\r\n`);

describe("an upstream's 429 that speaks the contract passes, completed with the bucket of the request,", () => {
  test.each<[string, string, readonly string[]]>([
    ['byte by byte', 'Transfer-Encoding: chunked', inChunks([...BODY])],
    ['after its head', `Content-Length: ${BODY.length}`, [BODY]],
    [
      'with trailers',
      'Transfer-Encoding: chunked',
      [`${inChunks([BODY]).join('').slice(0, -2)}X-RateLimit-Scope: global\r\n\r\n`],
    ],
  ])('though its body comes %s, and keeps its connection', async (_, framing, pieces) => {
    const front = await startWith(async exchange => {
      await exchange.send(head429(SPOKEN, framing));
      for (const piece of pieces) await exchange.send(piece);
    });
    const response = await ask(front);
    expect(response).toMatchObject({ status: 429, trailers: [] });
    expect(response.body.toString()).toBe(BODY);
    expect(rateFieldsOf(response)).toEqual(['retry-after', ...BUCKET_FIELDS]);
    expect(rateOf(response)).toMatchObject({ limit: 5, remaining: 0, resetAfter: 7, scope: 'user' });
    expect(fieldOf(response, 'via')).toBe('1.1 weir');
    await rested(front);
    const old = head('GET /things', front.issuer.bearer()).replace('HTTP/1.1', 'HTTP/1.0');
    expect((await front.gateway.ask(old)).body.toString()).toBe(BODY);
    // Each worker has connections of its own.
    expect(front.upstream.connections.length).toBeLessThanOrEqual(STORY_WORKERS);
  });
});

describe("an upstream's 429 of another kind", () => {
  test("becomes the contract's, and answers HEAD with the headers of GET", async () => {
    const front = await startWith(exchange => exchange.answer(429, FOREIGN, '<h1>slow down</h1>'));
    const response = await ask(front);
    expect(refusalOf(response)).toMatchObject({ retry_after: 3, global: false });
    expect(rateOf(response)).toMatchObject({ limit: 5, remaining: 4, scope: 'shared' });
    const headResponse = await ask(front, 'HEAD /things');
    expect(headResponse.body).toHaveLength(0);
    for (const name of ['content-length', 'content-type', 'retry-after', 'x-ratelimit-scope', 'set-cookie'])
      expect(fieldOf(headResponse, name), name).toBe(fieldOf(response, name));
    const passed = await ask(front, 'GET /passing');
    expect([passed.body.toString(), fieldOf(passed, 'retry-after')]).toEqual(['<h1>slow down</h1>', '2.5']);
  });

  test('keeps the connection to the upstream when its body comes with its head, and closes it when not', async () => {
    const small = await startWith(exchange => exchange.answer(429, FOREIGN, 'x'.repeat(2_000)));
    for (let i = 0; i < 3; i++) {
      await ask(small);
      await rested(small);
    }
    expect(small.upstream.connections.length).toBeLessThanOrEqual(STORY_WORKERS);
    const large = await startWith(exchange => exchange.answer(429, FOREIGN, Buffer.alloc(4_000_000)));
    const responses = await askTimes(large, 3, 'GET /things', large.issuer.bearer());
    expect(responses.map(response => refusalOf(response)['retry_after'])).toEqual([3, 3, 3]);
    expect(large.upstream.connections).toHaveLength(3);
  });

  test.each([
    ['goes on without end', 'Transfer-Encoding: chunked', `1000\r\n${'x'.repeat(4_096)}\r\n`],
    ['does not come', 'Content-Length: 500', ''],
  ])('is told at once though its body %s, and its connection is closed', async (_, framing, piece) => {
    const front = await startWith(async exchange => {
      await exchange.send(head429(FOREIGN, framing));
      while (piece !== '') await exchange.send(piece);
    });
    expect(refusalOf(await ask(front))).toMatchObject({ retry_after: 3 });
    await waitFor('the connection is closed', () => front.upstream.connections[0]?.open === false);
  });

  test('leaves no connection with a busy upstream when its permit is free again', async () => {
    const front = await startWith(async exchange => {
      await exchange.send(`${head429(FOREIGN, 'Content-Length: 60000')}x`);
    });
    await askTimes(front, 20, 'GET /other', front.issuer.bearer());
    expect(front.upstream.connections).toHaveLength(20);
    expect(front.upstream.connections.filter(connection => connection.open).length).toBeLessThan(10);
  });
});
