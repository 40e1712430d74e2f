import { expect, test } from 'vitest';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { H2C } from '../support/http2-client.ts';
import { connectFrames, FLAG, type FrameClient, frame, headers, TYPE } from '../support/http2-frames.ts';
import { shared } from '../support/lifetime.ts';
import { waitFor } from '../support/wait.ts';
import { type CaptureUpstream, header, startUpstream } from '../support/wire/index.ts';

/** RFC 9113, 7. */
const PROTOCOL_ERROR = 1;

type Field = readonly [name: string, value: string];

/** A request over HTTP/2, which HTTP/1.1 would write line by line. */
interface Written {
  readonly method?: string;
  readonly path?: string;
  readonly authority?: string;
  readonly fields?: readonly Field[];
}

function pseudo({ method = 'GET', path = '/a', authority = 'a.test' }: Written): Field[] {
  return [
    [':method', method],
    [':scheme', 'http'],
    [':path', path],
    [':authority', authority],
  ];
}

const started = shared(async () => {
  const upstream = await startUpstream();
  return { upstream, gateway: await startGateway({ upstreamPort: upstream.port, config: { listen: H2C } }) };
});

/** The gateway of all tests here, in front of an upstream that has seen nothing yet. */
async function start(): Promise<{ gateway: LocalGateway; upstream: CaptureUpstream }> {
  const { gateway, upstream } = await started();
  await upstream.renew();
  return { gateway, upstream };
}

/** How the gateway refused what was sent on stream 1: by a status, or by ending the stream or the connection. */
async function refusal(client: FrameClient): Promise<number | 'ended'> {
  const isOver = () =>
    client.closed || client.frames.some(({ type, stream }) => stream === 1 || type === TYPE.goaway);
  await waitFor('the gateway says something', isOver);
  const responds = client.frames.some(({ type }) => type === TYPE.headers);
  return responds ? await client.status(1) : 'ended';
}

/** What both versions can say, and neither may get through. */
const BOTH: [name: string, written: Written][] = [
  ['a transfer coding that is not chunked', { method: 'POST', fields: [['transfer-encoding', 'gzip']] }],
  [
    'two lengths',
    {
      method: 'POST',
      fields: [
        ['content-length', '1'],
        ['content-length', '1'],
      ],
    },
  ],
  ['a length with zeros in front', { method: 'POST', fields: [['content-length', '01']] }],
  ['an unknown method', { method: 'FOO' }],
  ['a method with a blank', { method: 'G ET' }],
  ['TRACE', { method: 'TRACE' }],
  ['an absolute path of another host', { path: 'http://b.test/a' }],
  ['a path with a line break', { path: '/a\r\nx: y' }],
  ['an escaped dot segment', { path: '/a/%2e%2e/b' }],
  ['a broken escape', { path: '/%zz' }],
  ['a host with a user', { authority: 'u@a.test' }],
  ['two hosts in one', { authority: 'a.test, b.test' }],
  ['an unknown expectation', { fields: [['expect', 'x']] }],
  [
    'two credentials',
    {
      fields: [
        ['authorization', 'Bearer a'],
        ['authorization', 'Bearer b'],
      ],
    },
  ],
  ['too many fields', { fields: Array.from({ length: 201 }, (_, i) => [`x-${i}`, ''] as const) }],
  [
    'too long a head',
    { fields: Array.from({ length: 5 }, (_, i) => [`x-${i}`, 'y'.repeat(4_000)] as const) },
  ],
];

test.each(BOTH)('neither HTTP/1.1 nor HTTP/2 lets through %s', async (_, written) => {
  const { gateway, upstream } = await start();
  const { method = 'GET', path = '/a', authority = 'a.test', fields = [] } = written;
  const lines = [['Host', authority], ...fields].map(([name, value]) => `${name}: ${value}\r\n`);
  const over1 = await gateway.ask(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(headers(1, [...pseudo(written), ...fields]));
  const over2 = await refusal(client);
  // Where HTTP/2 has a status to give it is the same one.
  expect(over1.status).toBeGreaterThanOrEqual(400);
  expect([over1.status, 'ended']).toContain(over2);
  expect(upstream.requests).toEqual([]);
});

test('a malformed field is answered 400, and its stream reset (RFC 9113, 8.2.1)', async () => {
  const { gateway, upstream } = await start();
  const before = await gateway.metric('weir_requests_total');
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(headers(1, [...pseudo({}), ['x', 'a\rb'], ['last', 'b']]), headers(3, pseudo({})));
  expect(await client.status(1)).toBe(400);
  expect(await client.reset(1)).toBe(PROTOCOL_ERROR);
  // Others are served, and it is counted as a malformed request of HTTP/1.1 is.
  expect(await client.status(3)).toBe(200);
  expect(upstream.requests).toHaveLength(1);
  const counted = await gateway.countedSince(before, 'weir_requests_total');
  const refused = [...counted].filter(([labels]) => labels.includes('status="400"'));
  expect(refused).toEqual([[expect.stringContaining('protocol="h2"'), 1]]);
});

/** What only HTTP/2 can say (RFC 9113, 8.2 and 8.3). */
const ONLY_HTTP2: [name: string, ...frames: Buffer[]][] = [
  [
    'neither an authority nor a Host',
    headers(
      1,
      pseudo({}).filter(([name]) => name !== ':authority'),
    ),
  ],
  ['a Host that is not the authority', headers(1, [...pseudo({}), ['host', 'b.test']])],
  ['connection', headers(1, [...pseudo({}), ['connection', 'close']])],
  ['a length without a body', headers(1, [...pseudo({ method: 'POST' }), ['content-length', '5']])],
];

test.each(ONLY_HTTP2)('a malformed request is answered 400: %s', async (_, ...frames) => {
  const { gateway, upstream } = await start();
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(...frames);
  expect(await client.status(1)).toBe(400);
  expect(upstream.requests).toEqual([]);
});

const POST = pseudo({ method: 'POST' });
const WITHOUT_END = FLAG.endHeaders;

test.each<[string, Field[], Buffer[]]>([
  ['ends before its length', [['content-length', '5']], [frame(TYPE.data, FLAG.endStream, 1, 'abc')]],
  [
    'has trailers that end nothing',
    [],
    [frame(TYPE.data, 0, 1, 'abc'), headers(1, [['x', 'y']], WITHOUT_END)],
  ],
])('a body never reaches the upstream as a whole one if it %s', async (_, fields, rest) => {
  const { gateway, upstream } = await start();
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(headers(1, [...POST, ...fields], WITHOUT_END), ...rest);
  await waitFor(
    'the stream is over',
    () => client.closed || client.frames.some(({ type }) => type === TYPE.rstStream || type === TYPE.goaway),
  );
  await waitFor('nothing is in flight', async () => {
    return [...(await gateway.metric('weir_requests_in_flight')).values()][0] === 0;
  });
  expect(upstream.requests.filter(({ complete }) => complete)).toEqual([]);
});

test('what is well-formed passes: two spellings of one host, TE of trailers, trailers of a request, an asterisk', async () => {
  const { gateway, upstream } = await start();
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(
    headers(1, [...pseudo({ authority: 'A.test' }), ['host', 'a.TEST'], ['te', 'trailers']]),
    headers(3, [...POST, ['content-length', '3']], WITHOUT_END),
    frame(TYPE.data, FLAG.padded, 3, Buffer.from('\x02abc\0\0', 'latin1')),
    headers(3, [['x-sum', 'y']]),
    headers(5, pseudo({ method: 'OPTIONS', path: '*' })),
  );
  expect(await Promise.all([client.status(1), client.status(3), client.status(5)])).toEqual([200, 200, 204]);
  const [first, second] = upstream.requests.toSorted((a, b) => a.method.localeCompare(b.method));
  expect([first?.method, header(first ?? { fields: [] }, 'host')]).toEqual(['GET', 'a.test']);
  expect([second?.method, second?.body.toString(), second?.trailers]).toEqual(['POST', 'abc', []]);
});
