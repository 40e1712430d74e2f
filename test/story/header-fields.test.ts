import { describe, expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { shared } from '../support/lifetime.ts';
import { head, inChunks } from '../support/requests.ts';
import {
  type CapturedRequest,
  header,
  names,
  startUpstream,
  values,
  type WireFields,
} from '../support/wire/index.ts';

/** Every byte from 0x80 on: a value that only a reader of latin-1 returns as it was. */
const HIGH = Array.from({ length: 128 }, (_, i) => String.fromCharCode(128 + i)).join('');
/** Every other byte that a value may hold. */
const LOW = `\t${Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')}`.trim();
const HOP_BY_HOP = [
  ...['Keep-Alive', 'Proxy-Connection', 'Proxy-Authorization', 'TE', 'Trailer', 'Upgrade', 'HTTP2-Settings'],
];

const started = shared(async () => {
  const upstream = await startUpstream();
  return { upstream, gateway: await startGateway({ upstreamPort: upstream.port }) };
});

async function requestWith(...lines: string[]): Promise<CapturedRequest> {
  const { upstream, gateway } = await started();
  await upstream.renew();
  expect((await gateway.ask(head('GET /a', ...lines))).status).toBe(200);
  return upstream.onlyRequest;
}

async function responseWith(fields: WireFields) {
  const { upstream, gateway } = await started();
  await upstream.renew(exchange => exchange.answer(200, fields, 'ok'));
  return await gateway.ask(head('GET /a'));
}

/** The pairs whose names begin with X-Test, as they stand. */
function tests(fields: WireFields): string[] {
  const pairs: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (/^x-test/i.test(fields[i] ?? '')) pairs.push(`${fields[i]}: ${fields[i + 1]}`);
  }
  return pairs;
}

const SPECIMENS = [
  ...['X-Test-Case: a', 'x-TEST-case: b', 'X-Test: 1', 'X-Test: 2', 'X-Test-Empty: ', 'x-test__proto__: p'],
  ...[
    `X-Test-High: ${HIGH}`,
    `X-Test-Low: ${LOW}`,
    'X-Test_underscore: u',
    `X-Test-Long: ${'x'.repeat(4_000)}`,
  ],
];
const SPECIMEN_FIELDS = SPECIMENS.flatMap(line => {
  const colon = line.indexOf(': ');
  return [line.slice(0, colon), line.slice(colon + 2)];
});

describe('on the way to the upstream', () => {
  test('fields keep their letter case, order, doubles and every byte', async () => {
    const request = await requestWith(...SPECIMENS);
    expect(tests(request.fields)).toEqual(SPECIMENS);
  });

  test.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'])(
    'a field named like a member of every object is a field: %s',
    async name => {
      expect(values((await requestWith(`${name}: x`)).fields, name)).toEqual(['x']);
    },
  );

  test('fields that a client repeats are checked again for another version or method', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port });
    const chunked = inChunks('POST /a', ['x']);
    for (const [repeated, status] of [
      [chunked.replace('HTTP/1.1', 'HTTP/1.0'), 400],
      [chunked.replace('POST', 'TRACE'), 405],
    ] as const) {
      const client = await gateway.connect();
      for (let i = 0; i < 2; i++) expect((await client.ask(chunked)).status).toBe(200);
      expect((await client.ask(repeated)).status).toBe(status);
    }
    expect(upstream.requests.map(({ method, body }) => `${method} ${body}`)).toEqual(Array(4).fill('POST x'));
  });

  test('fields that end at this hop are taken away', async () => {
    const lines = HOP_BY_HOP.map(name => `${name}: x`);
    const request = await requestWith(...lines, 'Connection: keep-alive');
    const lower = names(request.fields).map(name => name.toLowerCase());
    for (const name of HOP_BY_HOP) expect(lower).not.toContain(name.toLowerCase());
  });

  test('fields that Connection names are taken away, wherever and however it names them', async () => {
    const request = await requestWith(
      ...['X-Test-A: a', 'Connection: x-test-a ,, X-TEST-B'],
      ...['X-Test-B: b', 'Connection: X-Test-C', 'x-test-c: c'],
      ...['X-Test-D: d', 'Cookie: e', 'connection: cookie'],
    );
    expect(tests(request.fields)).toEqual(['X-Test-D: d']);
    expect(values(request.fields, 'cookie')).toEqual([]);
  });

  test('Connection cannot take away what the gateway says', async () => {
    const named =
      'Host, X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host, X-Request-Id, Via, Content-Length';
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port });
    const client = await gateway.connect();
    await client.send(`${head('POST /a', `Connection: ${named}`, 'Content-Length: 5')}hello`);
    const { status } = await client.answer();
    if (status === 400) return void expect(upstream.connections).toEqual([]);
    const { fields, body } = upstream.onlyRequest;
    for (const name of named.split(', ')) expect(values(fields, name), name).toHaveLength(1);
    expect(body.toString()).toBe('hello');
  });

  test('Via of proxies before is kept', async () => {
    const { fields } = await requestWith('Via: 1.0 edge');
    expect(values(fields, 'via').join(', ')).toBe('1.0 edge, 1.1 weir');
  });
});

describe('on the way back', () => {
  test('fields keep their letter case, order, doubles and every byte', async () => {
    expect(tests((await responseWith(SPECIMEN_FIELDS)).fields)).toEqual(SPECIMENS);
  });

  test('several Set-Cookie stay several', async () => {
    const cookies = ['a=1; Path=/', 'b=2, c; Expires=Thu, 01 Jan 1970 00:00:00 GMT', 'a=1; Path=/'];
    const { fields } = await responseWith(cookies.flatMap(cookie => ['Set-Cookie', cookie]));
    expect(values(fields, 'set-cookie')).toEqual(cookies);
  });

  test('fields that end at this hop or that Connection names are taken away', async () => {
    const { fields } = await responseWith([
      ...['Keep-Alive', 'timeout=5', 'Proxy-Authenticate'],
      ...['Basic', 'Proxy-Connection', 'close', 'Upgrade', 'h2c'],
      ...['Connection', 'X-Test-A, keep-alive', 'X-Test-A', 'a', 'X-Test-B', 'b', 'TE', 'trailers'],
    ]);
    expect(tests(fields)).toEqual(['X-Test-B: b']);
    for (const name of ['proxy-authenticate', 'proxy-connection', 'upgrade', 'te']) {
      expect(values(fields, name), name).toEqual([]);
    }
    expect(values(fields, 'keep-alive')).not.toContain('timeout=5');
  });

  test("Via is added to what was there, the content type and the server are the upstream's", async () => {
    const response = await responseWith([
      ...['Via', '1.1 cache', 'Content-Type', 'text/plain; charset=x', 'Server', 'theirs'],
    ]);
    expect(values(response.fields, 'via').join(', ')).toBe('1.1 cache, 1.1 weir');
    expect(header(response, 'content-type')).toBe('text/plain; charset=x');
    expect(values(response.fields, 'server')).toEqual(['theirs']);
  });

  test("Date is the upstream's, or the gateway's where it has none", async () => {
    const date = 'Tue, 01 Jan 2019 00:00:00 GMT';
    expect(values((await responseWith(['Date', date])).fields, 'date')).toEqual([date]);
    expect(Date.parse(header(await responseWith([]), 'date') ?? '')).toBeGreaterThan(Date.now() - 60_000);
  });

  test('nothing is added but Via, X-Request-Id, Date and what frames the response', async () => {
    const response = await responseWith(['X-Test', 'a']);
    expect(new Set(names(response.fields).map(name => name.toLowerCase()))).toEqual(
      new Set(['x-test', 'via', 'x-request-id', 'date', 'content-length', 'connection', 'keep-alive']),
    );
  });
});
