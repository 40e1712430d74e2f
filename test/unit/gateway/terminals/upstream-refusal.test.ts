import { describe, expect, test } from 'vitest';
import {
  answering,
  type BareGateway,
  bareGateway,
  failing,
  type Service,
} from '../../../support/bare-gateway.ts';
import { BUCKET_FIELDS, fieldOf, rateFieldsOf, rateOf, refusalOf } from '../../../support/rate-fields.ts';
import { type Response, values } from '../../../support/wire/index.ts';

const limits = {
  buckets: { reads: { user: '5/60s' } },
  routes: { 'GET /things': 'reads', 'GET /passing': 'reads' },
};
const routes = [{ path: '/passing', upstream_429: 'pass' }];
const BUCKET = '0123456789abcdef0123456789abcdef';
const OF_BUCKET = {
  'X-RateLimit-Scope': 'user',
  'X-RateLimit-Limit': '3',
  'X-RateLimit-Remaining': '1',
  'X-RateLimit-Reset': '1767225605.250',
  'X-RateLimit-Reset-After': '6.500',
  'X-RateLimit-Bucket': BUCKET,
};
const NOTHING = Object.fromEntries(Object.keys(OF_BUCKET).map(name => [name, null]));
const GLOBALLY = { ...NOTHING, 'X-RateLimit-Scope': 'global', 'X-RateLimit-Global': 'true' };
/** Of the family, only the scope. */
const SCOPE_ALONE = { ...NOTHING, 'X-RateLimit-Scope': 'user' };
const BODY = '{"message":"theirs","retry_after":6.5,"global":false}';
const GLOBAL_BODY = BODY.replace('false', 'true');

/** The head of a 429 that speaks the contract, with these values in place of others. */
function spoken(change: Readonly<Record<string, string | null>> = {}): string[] {
  const fields = { 'Retry-After': '7', ...OF_BUCKET, 'Content-Type': 'application/json', ...change };
  return Object.entries(fields).flatMap(([name, value]) => (value === null ? [] : [name, value]));
}

const start = (service: Service, more: object = {}): Promise<BareGateway> =>
  bareGateway({ ...limits, ...more }, { routes, service });

async function ask(fields: readonly string[], body = '', line = 'GET /things'): Promise<Response> {
  return await (await start(answering(429, fields, body))).ask(line, { as: true });
}

/** That the gateway wrote it, in the form of the contract. */
function expectRewritten(response: Response, scope: string, wait: number): void {
  expect(refusalOf(response)).toEqual({ message: expect.any(String), retry_after: wait, global: false });
  expect(fieldOf(response, 'x-ratelimit-scope')).toBe(scope);
  expect(fieldOf(response, 'x-ratelimit-global')).toBeUndefined();
  expect(fieldOf(response, 'via')).toBe('1.1 weir');
}

describe("an upstream's 429 that speaks the contract", () => {
  test.each<[string, Service]>([
    ['at once', answering(429, spoken(), BODY)],
    [
      'in pieces and with trailers',
      (_, sink) => {
        sink.head(429, '', spoken(), null);
        for (const character of BODY) sink.data(Buffer.from(character), null);
        sink.end(['X-RateLimit-Scope', 'global']);
      },
    ],
    [
      'with a body as long as one may be',
      (_, sink) => {
        sink.head(429, '', spoken(), 16_384);
        sink.data(Buffer.from(BODY.padEnd(16_384)), null);
        sink.end([]);
      },
    ],
  ])('passes with its headers and its body that came %s', async (_, service) => {
    const bare = await start(service);
    const response = await bare.ask('GET /things', { as: true });
    expect(JSON.parse(response.body.toString())).toEqual(JSON.parse(BODY));
    for (const [name, value] of Object.entries(OF_BUCKET)) expect(fieldOf(response, name), name).toBe(value);
    expect(rateFieldsOf(response)).toEqual(['retry-after', ...BUCKET_FIELDS]);
    expect(response.trailers).toEqual([]);
    expect(bare.aborted).toBe(0);
  });

  test('keeps its other fields, but for what it says of caches', async () => {
    const response = await ask([...spoken(), 'X-Other', 'stays', 'Cache-Control', 'max-age=60'], BODY);
    expect(fieldOf(response, 'x-other')).toBe('stays');
    expect(values(response.fields, 'cache-control')).toEqual(['no-store']);
  });

  test('passes where it is global', async () => {
    const response = await ask(spoken(GLOBALLY), GLOBAL_BODY);
    expect(response.body.toString()).toBe(GLOBAL_BODY);
    expect(fieldOf(response, 'x-ratelimit-global')).toBe('true');
  });

  test('passes to HEAD, which has no body to be judged by', async () => {
    const response = await ask([...spoken(), 'Content-Length', '52'], '', 'HEAD /things');
    expect(fieldOf(response, 'x-ratelimit-bucket')).toBe(BUCKET);
    expect(values(response.fields, 'content-length')).toEqual(['52']);
  });
});

describe("an upstream's 429 whose bucket is not whole", () => {
  test.each(['GET', 'HEAD'])(
    'passes to %s with what is missing: no room until its wait is over',
    async method => {
      const bare = await start(answering(429, spoken(SCOPE_ALONE), BODY));
      const response = await bare.ask(`${method} /things`, { as: true });
      if (method === 'GET') expect(response.body.toString()).toBe(BODY);
      expect(fieldOf(response, 'retry-after')).toBe('7');
      const { reset, ...rate } = rateOf(response);
      expect(rate).toMatchObject({ limit: 5, remaining: 0, resetAfter: 7, scope: 'user' });
      expect(reset).toBeCloseTo((bare.clock.epochMs() + 7_000) / 1_000, 1);
    },
  );

  test('keeps what it says of its bucket, and a time of reset that is said in both forms', async () => {
    const told = { limit: 3, remaining: 0, bucket: BUCKET, scope: 'user' };
    expect(rateOf(await ask(spoken({ 'X-RateLimit-Remaining': null }), BODY))).toMatchObject({
      ...{ ...told, reset: 1_767_225_605.25, resetAfter: 6.5 },
    });
    const half = rateOf(await ask(spoken({ 'X-RateLimit-Reset-After': null }), BODY));
    expect(half).toMatchObject({ ...told, resetAfter: 7 });
    expect(half.reset).not.toBe(1_767_225_605.25);
  });

  test('is rewritten where the request has no bucket to complete it from', async () => {
    const response = await ask(spoken(SCOPE_ALONE), BODY, 'GET /other');
    expectRewritten(response, 'shared', 7);
    expect(rateFieldsOf(response)).toEqual(['retry-after', 'x-ratelimit-scope']);
  });

  test('is completed on a route that lets it pass, too', async () => {
    const response = await ask(spoken(SCOPE_ALONE), BODY, 'GET /passing');
    expect(rateOf(response)).toMatchObject({ limit: 5, remaining: 0, scope: 'user' });
  });
});

describe("an upstream's 429 is rewritten", () => {
  test('whose body does not speak the contract: its six headers stay', async () => {
    const response = await ask(spoken(), '<h1>slow down</h1>');
    expectRewritten(response, 'user', 7);
    for (const [name, value] of Object.entries(OF_BUCKET)) expect(fieldOf(response, name), name).toBe(value);
    expect(rateFieldsOf(response)).toEqual(['retry-after', ...BUCKET_FIELDS]);
  });

  test('whose body is coded', async () => {
    const response = await ask([...spoken(), 'Content-Encoding', 'gzip'], BODY);
    expectRewritten(response, 'user', 7);
    expect(fieldOf(response, 'content-encoding')).toBeUndefined();
  });

  test.each<[string, Service, number]>([
    [
      'whose body breaks off',
      (_, sink) => {
        sink.head(429, '', spoken(), 500);
        sink.data(Buffer.from(BODY), null);
        sink.fail(failing('truncated', { responseBegun: true }));
      },
      0,
    ],
    [
      'whose body is longer than one may be',
      (_, sink) => {
        sink.head(429, '', spoken(), null);
        for (let i = 0; i < 5; i++) sink.data(Buffer.alloc(4_096, ' '), null);
      },
      1,
    ],
    ['whose body is announced as longer', (_, sink) => sink.head(429, '', spoken(), 16_385), 1],
    [
      'whose head does not speak the contract: the rest is not awaited',
      (_, sink) => sink.head(429, '', [], 9),
      1,
    ],
  ])('%s', async (_, service, aborted) => {
    const bare = await start(service);
    const response = await bare.ask('GET /things', { as: true });
    expect(refusalOf(response)).toMatchObject({ global: false });
    expect(response.body.toString()).not.toContain('theirs');
    expect(bare.aborted).toBe(aborted);
  });

  test('whose body does not end within 2 s: the client waits no longer, and the upstream is given up', async () => {
    const bare = await start((_, sink) => {
      sink.head(429, '', spoken(), 500);
      sink.data(Buffer.from(BODY), null);
    });
    const { client } = bare.send('GET /things', { as: true });
    bare.clock.advance(1_999);
    expect(client.responses).toBe(0);
    bare.clock.advance(1);
    expectRewritten(await client.response, 'user', 7);
    expect(bare.aborted).toBe(1);
  });

  test.each<[string, readonly string[], number]>([
    ['nothing of ours', [], 1],
    ['no scope', spoken({ 'X-RateLimit-Scope': null }), 7],
    ['scope global without its field', spoken({ ...GLOBALLY, 'X-RateLimit-Global': null }), 7],
    ['no whole seconds', spoken({ ...SCOPE_ALONE, 'Retry-After': '2.5' }), 3],
    ['two waits', [...spoken(SCOPE_ALONE), 'Retry-After', '9'], 7],
    ['fields that do not pass the gateway', [...spoken(), 'Connection', 'retry-after, x-ratelimit-scope'], 7],
  ])('whose head says %s: the bucket of the request is told, as that of all', async (_, fields, wait) => {
    const response = await ask(fields, BODY);
    expectRewritten(response, 'shared', wait);
    expect(rateOf(response)).toMatchObject({ limit: 5, remaining: 4, scope: 'shared' });
    expect(fieldOf(response, 'x-ratelimit-bucket')).not.toBe(BUCKET);
  });

  const foreign = [
    ...['Retry-After', '2.5', 'Content-Type', 'text/html', 'ETag', '"e"', 'X-RateLimit-Limit', '9'],
    ...['Cache-Control', 'max-age=60', 'Set-Cookie', 'a=b'],
  ];

  test('and keeps its fields but for those of its body and of the family, to HEAD as to GET', async () => {
    const got = await ask(foreign, '<h1>slow down</h1>');
    expectRewritten(got, 'shared', 3);
    for (const name of ['content-type', 'content-length', 'cache-control', 'retry-after'])
      expect(values(got.fields, name), name).toHaveLength(1);
    expect([fieldOf(got, 'etag'), fieldOf(got, 'set-cookie')]).toEqual([undefined, 'a=b']);
    const head = await ask(foreign, '', 'HEAD /things');
    for (const name of ['content-length', 'content-type', 'retry-after', 'x-ratelimit-scope', 'set-cookie'])
      expect(fieldOf(head, name), name).toBe(fieldOf(got, name));
  });

  test('with a scope and no headers of a bucket where the request has none', async () => {
    const response = await ask(foreign, '', 'GET /other');
    expectRewritten(response, 'shared', 3);
    expect(rateFieldsOf(response)).toEqual(['retry-after', 'x-ratelimit-scope']);
  });
});

describe("an upstream's 429 on a route that lets it pass", () => {
  test('passes unchanged', async () => {
    const response = await ask(['Retry-After', '2.5'], '<h1>slow down</h1>', 'GET /passing');
    expect(response.body.toString()).toBe('<h1>slow down</h1>');
    expect(fieldOf(response, 'retry-after')).toBe('2.5');
  });

  test('has all fields of the rate-limit family or none', async () => {
    const bare = await bareGateway(
      {},
      { routes, service: answering(429, [...spoken(), 'Connection', 'retry-after']) },
    );
    expect(rateFieldsOf(await bare.ask('GET /passing', { as: true }))).toEqual([]);
  });
});

test.each<[string, readonly string[], string, string]>([
  ['of its caller', spoken(), BODY, 'user'],
  ['of the gateway', spoken(GLOBALLY), GLOBAL_BODY, 'global'],
  ['of others', spoken({ 'X-RateLimit-Scope': 'shared' }), BODY, 'shared'],
  ['of its caller, rewritten', ['X-RateLimit-Scope', 'user'], '', 'user'],
  ['of the gateway, rewritten', ['X-RateLimit-Scope', 'global'], '', 'global'],
  ['that says nothing, rewritten', ['Retry-After', '1'], '', 'shared'],
])('the record of a 429 has the scope that the service meant: %s', async (_, fields, body, scope) => {
  const bare = await start(answering(429, fields, body));
  await bare.ask('GET /other', { as: true });
  expect(bare.records[0]?.scopeOf429).toBe(scope);
});
