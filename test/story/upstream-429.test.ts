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
  statusesOf,
} from '../support/limits.ts';
import { head } from '../support/requests.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { header, type Script, values, type WireFields } from '../support/wire/index.ts';

/** A connection rests for 125 ms after a 429. */
const RESTED_MS = 200;

const BUCKET = '0123456789abcdef0123456789abcdef';

const limits = {
  global: { user: '10000/1s', address: '10000/1s' },
  buckets: { reads: { user: '5/60s' } },
  routes: { 'GET /things': 'reads' },
};

const startWith = (upstream: Script, more: object = {}): Promise<LimitedGateway> =>
  startLimited({ ...limits, ...more }, { upstream, routes: [{ path: '/passing', upstream_429: 'pass' }] });

const refusing = (fields: WireFields, body: string | Buffer = ''): Promise<LimitedGateway> =>
  startWith(exchange => exchange.answer(429, fields, body));

const OF_BUCKET = {
  'X-RateLimit-Scope': 'user',
  'X-RateLimit-Limit': '3',
  'X-RateLimit-Remaining': '1',
  'X-RateLimit-Reset': '1767225605.250',
  'X-RateLimit-Reset-After': '6.500',
  'X-RateLimit-Bucket': BUCKET,
};

/** The head of a 429 that speaks the contract, with these values in place of others. */
function spoken(change: Readonly<Record<string, string | null>> = {}): string[] {
  const fields: Record<string, string | null> = {
    'Retry-After': '7',
    ...OF_BUCKET,
    'Content-Type': 'application/json',
    ...change,
  };
  return Object.entries(fields).flatMap(([name, value]) => (value === null ? [] : [name, value]));
}
const GLOBALLY = {
  ...Object.fromEntries(Object.keys(OF_BUCKET).map(name => [name, null])),
  'X-RateLimit-Scope': 'global',
  'X-RateLimit-Global': 'true',
};
/** Of the family, only what the 429 of a global limit has. */
const SCOPE_ALONE = { ...GLOBALLY, 'X-RateLimit-Scope': 'user', 'X-RateLimit-Global': null };

const BODY = '{"message":"theirs","retry_after":6.5,"global":false}';
const GLOBAL_BODY = '{"message":"theirs","retry_after":6.5,"global":true}';

const ask = (front: LimitedGateway, target = 'GET /things') => askOnce(front, target, front.issuer.bearer());

describe("an upstream's 429 that speaks the contract", () => {
  test('passes with its own headers and body', async () => {
    const front = await refusing([...spoken(), 'X-Other', 'stays', 'Cache-Control', 'max-age=60'], BODY);
    const response = await ask(front);
    expect(response.status).toBe(429);
    expect(response.body.toString()).toBe(BODY);
    expect(rateFieldsOf(response)).toEqual(['retry-after', ...BUCKET_FIELDS]);
    for (const [name, value] of Object.entries(OF_BUCKET)) expect(fieldOf(response, name), name).toBe(value);
    expect(fieldOf(response, 'x-other')).toBe('stays');
    expect(fieldOf(response, 'via')).toBe('1.1 weir');
    expect(values(response.fields, 'cache-control')).toEqual(['no-store']);
  });

  test('passes where it is global', async () => {
    const response = await ask(await refusing(spoken(GLOBALLY), GLOBAL_BODY));
    expect(response.body.toString()).toBe(GLOBAL_BODY);
    expect(fieldOf(response, 'x-ratelimit-global')).toBe('true');
  });

  const fields = spoken().map((part, i) => (i % 2 === 0 ? `${part}: ` : `${part}\r\n`));
  const START = `HTTP/1.1 429 Slow\r\n${fields.join('')}`;
  const chunks = (pieces: readonly string[]) =>
    [...pieces, ''].map(piece => `${piece.length.toString(16)}\r\n${piece}\r\n`);

  test.each<[string, string, readonly string[]]>([
    ['whose body comes in one chunk', 'Transfer-Encoding: chunked\r\n\r\n', [chunks([BODY]).join('')]],
    ['whose body comes byte by byte', 'Transfer-Encoding: chunked\r\n\r\n', chunks([...BODY])],
    ['whose body comes after its head', `Content-Length: ${BODY.length}\r\n\r\n`, [BODY]],
    [
      'whose body has trailers',
      'Transfer-Encoding: chunked\r\n\r\n',
      [`${chunks([BODY]).join('').slice(0, -2)}X-RateLimit-Scope: global\r\n\r\n`],
    ],
    [
      'whose body is as long as one may be',
      'Transfer-Encoding: chunked\r\n\r\n',
      chunks([BODY.slice(0, -1).padEnd(16_383), '}']),
    ],
  ])('passes %s', async (_, framing, pieces) => {
    const front = await startWith(async exchange => {
      await exchange.send(START + framing);
      for (const piece of pieces) await exchange.send(piece);
    });
    const response = await ask(front);
    expect(JSON.parse(response.body.toString())).toEqual(JSON.parse(BODY));
    expect(response.trailers).toEqual([]);
    expect(fieldOf(response, 'x-ratelimit-bucket')).toBe(BUCKET);
    await sleep(RESTED_MS);
    expect((await ask(front)).status).toBe(429);
    // Each worker has connections of its own.
    expect(front.upstream.connections.length).toBeLessThanOrEqual(STORY_WORKERS);
  });

  test('passes to HEAD, which has no body to be judged by, and to HTTP/1.0', async () => {
    const front = await refusing(spoken(), BODY);
    const response = await ask(front, 'HEAD /things');
    expect(fieldOf(response, 'x-ratelimit-bucket')).toBe(BUCKET);
    expect(fieldOf(response, 'content-length')).toBe(String(BODY.length));
    const old = head('GET /things', front.issuer.bearer()).replace('HTTP/1.1', 'HTTP/1.0');
    expect((await front.gateway.ask(old)).body.toString()).toBe(BODY);
  });
});

/** That the gateway wrote it, in the form of the contract. */
function expectRewritten(response: Awaited<ReturnType<typeof ask>>, scope: string, wait: number): void {
  expect(refusalOf(response)).toEqual({ message: expect.any(String), retry_after: wait, global: false });
  expect(fieldOf(response, 'x-ratelimit-scope')).toBe(scope);
  expect(fieldOf(response, 'x-ratelimit-global')).toBeUndefined();
  expect(fieldOf(response, 'via')).toBe('1.1 weir');
}

describe("an upstream's 429 whose bucket is not whole", () => {
  test('passes with what is missing: no room until its wait is over', async () => {
    const front = await refusing(spoken(SCOPE_ALONE), BODY);
    for (const method of ['GET', 'HEAD']) {
      const response = await ask(front, `${method} /things`);
      if (method === 'GET') expect(response.body.toString()).toBe(BODY);
      expect(fieldOf(response, 'retry-after')).toBe('7');
      const rate = rateOf(response);
      expect(rate).toMatchObject({ limit: 5, remaining: 0, resetAfter: 7, scope: 'user' });
      expect(rate.reset).toBeGreaterThan(Date.now() / 1_000 + 5);
    }
  });

  test('keeps what it says of its bucket, and a time of reset that is said in both forms', async () => {
    const front = await refusing(spoken({ 'X-RateLimit-Remaining': null }), BODY);
    expect(rateOf(await ask(front))).toMatchObject({
      ...{ limit: 3, remaining: 0, reset: 1_767_225_605.25, resetAfter: 6.5, bucket: BUCKET, scope: 'user' },
    });
    const half = await refusing(spoken({ 'X-RateLimit-Reset-After': null }), BODY);
    const rate = rateOf(await ask(half));
    expect(rate).toMatchObject({ limit: 3, remaining: 0, resetAfter: 7, bucket: BUCKET });
    expect(rate.reset).toBeGreaterThan(1_767_225_605.25);
  });

  test('is rewritten where the request has no bucket to complete it from', async () => {
    const response = await ask(await refusing(spoken(SCOPE_ALONE), BODY), 'GET /other');
    expectRewritten(response, 'shared', 7);
    expect(rateFieldsOf(response)).toEqual(['retry-after', 'x-ratelimit-scope']);
  });

  test('is completed on a route that lets it pass, too', async () => {
    const front = await startWith(exchange => exchange.answer(429, spoken(SCOPE_ALONE), BODY), {
      routes: { 'GET /passing': 'reads' },
    });
    expect(rateOf(await ask(front, 'GET /passing'))).toMatchObject({ limit: 5, remaining: 0, scope: 'user' });
  });
});

describe("an upstream's 429 is rewritten whose body does not speak the contract", () => {
  test.each<[string, string | Buffer]>([
    ['no body', ''],
    ['no JSON', '<h1>slow down</h1>'],
    ['a string', '"slow down"'],
    ['null', 'null'],
    ['no message', '{"retry_after":6.5,"global":false}'],
    ['no retry_after', '{"message":"m","global":false}'],
    ['a retry_after in quotes', '{"message":"m","retry_after":"6.5","global":false}'],
    ['no wait', '{"message":"m","retry_after":0,"global":false}'],
    ['a negative wait', '{"message":"m","retry_after":-1,"global":false}'],
    ['less than a millisecond', '{"message":"m","retry_after":1e-9,"global":false}'],
    ['another wait than its head', '{"message":"m","retry_after":9,"global":false}'],
    ['an endless wait', '{"message":"m","retry_after":1e999,"global":false}'],
    ['no global', '{"message":"m","retry_after":6.5}'],
    ['another global', GLOBAL_BODY],
    [
      'bytes that are not UTF-8',
      Buffer.from('{"message":"\xff","retry_after":6.5,"global":false}', 'latin1'),
    ],
    ['a byte order mark', `\xef\xbb\xbf${BODY}`],
    ['more than 16 KiB', BODY.padEnd(16_385)],
    ['members that are inherited', '{"__proto__":{"message":"m","retry_after":6.5,"global":false}}'],
  ])('%s', async (_, body) => {
    expectRewritten(await ask(await refusing(spoken(SCOPE_ALONE), body)), 'shared', 7);
  });

  test('where all six headers are its own, they stay', async () => {
    const response = await ask(await refusing(spoken(), '<h1>slow down</h1>'));
    expectRewritten(response, 'user', 7);
    for (const [name, value] of Object.entries(OF_BUCKET)) expect(fieldOf(response, name), name).toBe(value);
    expect(rateFieldsOf(response)).toEqual(['retry-after', ...BUCKET_FIELDS]);
  });

  test('a body that is coded', async () => {
    const front = await refusing([...spoken(), 'Content-Encoding', 'gzip'], BODY);
    const response = await ask(front);
    expectRewritten(response, 'user', 7);
    expect(fieldOf(response, 'content-encoding')).toBeUndefined();
  });

  test('a body that breaks off', async () => {
    const front = await startWith(async exchange => {
      await exchange.send(head429(spoken(), 'Content-Length: 500') + BODY);
      exchange.connection.end();
    });
    expectRewritten(await ask(front), 'user', 7);
  });

  test('a body that does not end within 2 s: the client waits no longer, and the upstream connection is closed', async () => {
    const front = await startWith(async exchange => {
      await exchange.send(head429(spoken(), 'Content-Length: 500'));
      for (;;) {
        await exchange.send(' ');
        await new Promise(resolve => setTimeout(resolve, 50));
      }
    });
    expectRewritten(await ask(front), 'user', 7);
    await waitFor('the connection is closed', () => front.upstream.connections[0]?.open === false);
  });
});

function head429(fields: readonly string[], ...lines: string[]): string {
  const parts = fields.flatMap((part, i) => (i % 2 === 0 ? [`${part}: ${fields[i + 1]}`] : []));
  return `HTTP/1.1 429 Slow\r\n${[...parts, ...lines].join('\r\n')}\r\n\r\n`;
}

describe("an upstream's 429 is rewritten whose head does not speak the contract", () => {
  test.each<[string, readonly string[], string, number]>([
    ['no scope', spoken({ 'X-RateLimit-Scope': null }), BODY, 7],
    ['a scope of its own', spoken({ 'X-RateLimit-Scope': 'tenant' }), BODY, 7],
    [
      'scope shared and no wait',
      spoken({ ...SCOPE_ALONE, 'X-RateLimit-Scope': 'shared', 'Retry-After': null }),
      BODY,
      1,
    ],
    ['another type', spoken({ ...SCOPE_ALONE, 'Content-Type': 'application/json; charset=utf-8' }), BODY, 7],
    ['no type', spoken({ ...SCOPE_ALONE, 'Content-Type': null }), BODY, 7],
    ['no whole seconds', spoken({ ...SCOPE_ALONE, 'Retry-After': '2.5' }), BODY, 3],
    ['two waits', [...spoken(SCOPE_ALONE), 'Retry-After', '9'], BODY, 7],
    ['a global field on another scope', spoken({ 'X-RateLimit-Global': 'true' }), BODY, 7],
    ['scope global without its field', spoken({ ...GLOBALLY, 'X-RateLimit-Global': null }), GLOBAL_BODY, 7],
    [
      'a global field that says false',
      spoken({ ...GLOBALLY, 'X-RateLimit-Global': 'false' }),
      GLOBAL_BODY,
      7,
    ],
    ['a Reset-After of 0, on which a client hangs', spoken({ 'X-RateLimit-Reset-After': '0.000' }), BODY, 7],
    [
      'fields that do not go past the gateway',
      [...spoken(), 'Connection', 'retry-after, x-ratelimit-scope'],
      BODY,
      7,
    ],
    ['a bucket that is no hash', spoken({ 'X-RateLimit-Bucket': 'theirs' }), BODY, 7],
    ['two buckets', [...spoken(), 'X-RateLimit-Bucket', BUCKET], BODY, 7],
    ['a field that the family lacks', [...spoken(), 'X-RateLimit-Foo', '1'], BODY, 7],
    ['a negative Remaining', spoken({ 'X-RateLimit-Remaining': '-1' }), BODY, 7],
  ])('%s', async (_, fields, body, wait) => {
    const front = await refusing(fields, body);
    const response = await ask(front);
    expectRewritten(response, 'shared', wait);
    expect(rateOf(response)).toMatchObject({ limit: 5, remaining: 4, scope: 'shared' });
    expect(fieldOf(response, 'x-ratelimit-bucket')).not.toBe(BUCKET);
  });
});

describe("an upstream's 429 of another kind", () => {
  const foreign = [
    ...['Retry-After', '2.5', 'Content-Type', 'text/html', 'Content-Language', 'de', 'ETag', '"e"'],
    ...['Last-Modified', 'Thu, 01 Jan 2026 00:00:05 GMT', 'X-RateLimit-Limit', '9', 'Set-Cookie', 'a=b'],
    ...['Cache-Control', 'max-age=60', 'Expires', 'Thu, 01 Jan 2036 00:00:05 GMT', 'X-Quota-Owner', 'them'],
  ];

  test("becomes the contract's, with the headers of the request that was admitted", async () => {
    const response = await ask(await refusing(foreign, '<h1>slow down</h1>'));
    expectRewritten(response, 'shared', 3);
    expect(rateOf(response)).toMatchObject({ limit: 5, remaining: 4, scope: 'shared' });
  });

  test('keeps its fields but for those of its body and of the family', async () => {
    const response = await ask(await refusing(foreign, '<h1>slow down</h1>'));
    for (const name of ['etag', 'content-language', 'last-modified', 'expires'])
      expect(fieldOf(response, name), name).toBeUndefined();
    expect(fieldOf(response, 'set-cookie')).toBe('a=b');
    expect(fieldOf(response, 'x-quota-owner')).toBe('them');
    for (const name of ['content-type', 'content-length', 'cache-control', 'retry-after'])
      expect(values(response.fields, name), name).toHaveLength(1);
  });

  test('has a scope and no bucket headers on a route without a bucket', async () => {
    const response = await ask(await refusing(foreign), 'GET /other');
    expectRewritten(response, 'shared', 3);
    expect(rateFieldsOf(response)).toEqual(['retry-after', 'x-ratelimit-scope']);
  });

  test('answers HEAD with the headers of GET', async () => {
    const front = await refusing(foreign, '<h1>slow down</h1>');
    const get = await ask(front);
    const headResponse = await ask(front, 'HEAD /things');
    expect(headResponse.body).toHaveLength(0);
    for (const name of ['content-length', 'content-type', 'retry-after', 'x-ratelimit-scope', 'set-cookie'])
      expect(header(headResponse, name), name).toBe(header(get, name));
  });

  test('keeps the connection to the upstream when its body comes with its head, and closes it when not', async () => {
    const small = await refusing(foreign, 'x'.repeat(2_000));
    for (let i = 0; i < 3; i++) {
      await ask(small);
      await sleep(RESTED_MS);
    }
    expect(small.upstream.connections.length).toBeLessThanOrEqual(STORY_WORKERS);
    const large = await refusing(foreign, Buffer.alloc(4_000_000));
    const responses = await askTimes(large, 3, 'GET /things', large.issuer.bearer());
    expect(responses.map(response => refusalOf(response)['retry_after'])).toEqual([3, 3, 3]);
    expect(large.upstream.connections).toHaveLength(3);
  });

  test.each([
    ['goes on without end', 'Transfer-Encoding: chunked', `1000\r\n${'x'.repeat(4_096)}\r\n`, 0],
    ['does not come', 'Content-Length: 500', '', 50],
    ['drips', 'Transfer-Encoding: chunked', '1\r\nx\r\n', 50],
  ])(
    'is told at once though its body %s, and its connection is closed',
    async (_, framing, piece, pauseMs) => {
      const front = await startWith(async exchange => {
        await exchange.send(head429(foreign, framing));
        for (;;) {
          await exchange.send(piece);
          await new Promise(resolve => setTimeout(resolve, pauseMs));
        }
      });
      expectRewritten(await ask(front), 'shared', 3);
      await waitFor('the connection is closed', () => front.upstream.connections[0]?.open === false);
    },
  );

  test('leaves no connection with a busy upstream when its permit is free again', async () => {
    const front = await startWith(async exchange => {
      await exchange.send(`${head429(foreign, 'Content-Length: 60000')}x`);
    });
    await askTimes(front, 20, 'GET /other', front.issuer.bearer());
    expect(front.upstream.connections).toHaveLength(20);
    expect(front.upstream.connections.filter(connection => connection.open).length).toBeLessThan(10);
  });

  test('passes unchanged on a route that says so', async () => {
    const response = await ask(await refusing(foreign, '<h1>slow down</h1>'), 'GET /passing');
    expect(response.body.toString()).toBe('<h1>slow down</h1>');
    expect(fieldOf(response, 'retry-after')).toBe('2.5');
    expect(BUCKET_FIELDS.filter(name => fieldOf(response, name) !== undefined)).toEqual([]);
  });
});

test("an upstream's 429 that passes unchanged has all fields of the rate-limit family or none", async () => {
  const front = await refusing([...spoken(), 'Connection', 'retry-after, x-ratelimit-scope'], BODY);
  expect(rateFieldsOf(await ask(front, 'GET /passing'))).toEqual([]);
});

describe("a service's 429 as an invalid request", () => {
  const counting = { invalid_requests: { limit: '3/60s', restrict_for: '60s' } };

  test.each<[string, readonly string[], string, boolean]>([
    ['counts where it speaks of the caller', spoken(), BODY, true],
    ['counts where it is global', spoken(GLOBALLY), GLOBAL_BODY, true],
    ['does not count where it speaks of others', spoken({ 'X-RateLimit-Scope': 'shared' }), BODY, false],
    ['counts where it is rewritten and spoke of the caller', ['X-RateLimit-Scope', 'user'], '', true],
    ['does not count where it is rewritten and spoke of others', ['X-RateLimit-Scope', 'shared'], '', false],
    ['does not count where it is rewritten and said nothing', ['Retry-After', '1'], '', false],
    ['counts where it is rewritten and was global', ['X-RateLimit-Scope', 'global'], '', true],
  ])('%s', async (_, fields, body, counts) => {
    const front = await startWith(exchange => exchange.answer(429, fields, body), counting);
    const responses = await askTimes(front, 6, 'GET /other', front.issuer.bearer());
    expect(statusesOf(responses)).toEqual([429, 429, 429, 429, 429, 429]);
    expect(front.upstream.requests).toHaveLength(counts ? 4 : 6);
  });

  test('counts where it passes unchanged: nothing says that other callers share the blame', async () => {
    const front = await startWith(exchange => exchange.answer(429), counting);
    await askTimes(front, 6, 'GET /passing', front.issuer.bearer());
    expect(front.upstream.requests).toHaveLength(4);
  });
});
