import { describe, expect, test } from 'vitest';
import { type ConnectionSide, Http1Downstream } from '../../../../src/edge/server/http1-downstream.ts';
import { ConnectionMemory } from '../../../../src/gateway/index.ts';
import { NO_TERMS, RequestBody } from '../../../../src/wire/http1/index.ts';
import { requestFraming } from '../../../../src/wire/http1/request-framing.ts';
import { MemorySocket } from '../../../support/memory-socket.ts';

const LENGTH = (bytes: number): string[] => ['Content-Length', String(bytes)];
const CHUNKED = ['Transfer-Encoding', 'chunked'];
const EXPECT = ['Expect', '100-continue'];

const NOBODY = { bodyStarted() {}, bodyFlowChanged() {}, bodyTooLarge() {} };

interface Asked {
  readonly method?: string;
  readonly httpMinor?: number;
  readonly fields?: string[];
  readonly draining?: boolean;
}

/** A request on a connection of its own, to be answered by a test. */
function request({ method = 'POST', httpMinor = 1, fields = [], draining = false }: Asked = {}) {
  const wire = new MemorySocket();
  const side = { answered: 0, resets: 0 };
  const connection: ConnectionSide = {
    socket: wire.asSocket,
    client: { peer: '192.0.2.1', scheme: 'http', mayForward: true, redirects: false, certificate: null },
    memory: new ConnectionMemory(true),
    draining,
    terms: (kept, chunked) => ({ date: 'now', keepAliveHint: kept ? 'timeout=5' : null, chunked }),
    answered: () => side.answered++,
    count: () => {},
    hasRoomFor: () => true,
    reset: () => side.resets++,
    switched: () => {},
  };
  const framing = requestFraming(fields, httpMinor);
  const head = { method, target: '/', httpMinor, fields, framing, section: null, bytes: 0 };
  const { bodyLength } = framing;
  const body =
    bodyLength === 0 || typeof bodyLength === 'object' ? null : new RequestBody(bodyLength, NOBODY);
  return { downstream: new Http1Downstream(connection, head, body), wire, side, body };
}

const turn = () => new Promise<void>(resolve => setImmediate(resolve));

const SINK = { chunk: () => true, end() {}, fail() {} };

describe('behind a whole response', () => {
  const kept = async (asked: Asked, { fields = LENGTH(0), close = false } = {}) => {
    const { downstream, wire } = request(asked);
    downstream.answer(200, 'OK', fields, '', close);
    await turn();
    expect(wire.written.includes('Connection: close')).toBe(!downstream.keepsConnection);
    return { keeps: downstream.keepsConnection, lingers: downstream.lingers };
  };

  test.each<[string, Asked]>([
    ['without a body', {}],
    ['with a short body that is still to come, by length', { fields: LENGTH(65_536) }],
    ['of HTTP/1.0 that asks for it', { httpMinor: 0, fields: ['Connection', 'keep-alive'] }],
  ])('the connection of a request is kept: %s', async (_, asked) => {
    expect(await kept(asked)).toEqual({ keeps: true, lingers: false });
  });

  test.each<[string, Asked]>([
    ['with a longer body that is still to come', { fields: LENGTH(65_537) }],
    ['with chunks that are still to come', { fields: CHUNKED }],
    ['with a body that was not asked for, and may come or not', { fields: [...LENGTH(5), ...EXPECT] }],
    ['with a length with a leading zero', { fields: ['Content-Length', '05'] }],
    ['with a length twice', { fields: [...LENGTH(0), ...LENGTH(0)] }],
    ['with a length and chunks', { fields: [...LENGTH(5), ...CHUNKED] }],
  ])('the connection of a request closes, with a moment for what is under way: %s', async (_, asked) => {
    expect(await kept(asked)).toEqual({ keeps: false, lingers: true });
  });

  test.each<[string, Asked]>([
    ['that wants no other behind it', { fields: ['Connection', 'close'] }],
    ['of HTTP/1.0', { httpMinor: 0 }],
    ['while the gateway drains', { draining: true }],
  ])('the connection of a request closes at once: %s', async (_, asked) => {
    expect(await kept(asked)).toEqual({ keeps: false, lingers: false });
  });

  test('the connection of a refused request lingers, since more may have been sent', async () => {
    expect(await kept({}, { close: true })).toEqual({ keeps: false, lingers: true });
  });

  test('the connection closes where only that ends the response (HTTP/1.0 without a length)', async () => {
    const asked = { httpMinor: 0, fields: ['Connection', 'keep-alive'] };
    expect((await kept(asked, { fields: [] })).keeps).toBe(false);
    expect((await kept({}, { fields: [] })).keeps).toBe(true);
  });

  test('the connection is kept once the body has come, whatever its framing', () => {
    for (const fields of [LENGTH(70_000), CHUNKED, [...LENGTH(5), ...EXPECT]]) {
      const { downstream, body } = request({ fields });
      body?.start(SINK);
      body?.read(Buffer.from(fields === CHUNKED ? '0\r\n\r\n' : 'x'.repeat(Number(fields[1]))));
      downstream.answer(200, '', LENGTH(0), '', false);
      expect(downstream).toMatchObject({ requestComplete: true, keepsConnection: true });
    }
  });

  test('a client that was asked for its body is waited for', () => {
    const { downstream, body } = request({ fields: [...LENGTH(5), ...EXPECT] });
    body?.start(SINK);
    downstream.answer(200, '', LENGTH(0), '', false);
    expect(downstream.keepsConnection).toBe(true);
  });
});

test('a whole response leaves at the end of the turn, together with others', async () => {
  const both = [request(), request()];
  for (const { downstream } of both) downstream.answer(200, '', LENGTH(5), 'hello', false);
  expect(both.map(({ wire }) => wire.written)).toEqual(['', '']);
  await turn();
  for (const { wire } of both) expect(wire.written.endsWith('\r\n\r\nhello')).toBe(true);
});

describe('the body of a response', () => {
  const stream = async (
    asked: Asked,
    status: number,
    fields: string[],
    pieces: string[],
    trailers: string[] = [],
  ) => {
    const { downstream, wire, side } = request(asked);
    downstream.head(status, '', fields);
    for (const piece of pieces) downstream.write(Buffer.from(piece, 'latin1'), null);
    downstream.end(trailers);
    await turn();
    expect(side.answered).toBe(1);
    const at = wire.written.indexOf('\r\n\r\n');
    return {
      chunked: wire.written.slice(0, at).includes('Transfer-Encoding: chunked'),
      sent: wire.written.slice(at + 4),
      keeps: downstream.keepsConnection,
    };
  };

  test('goes out as it is where its length is known', async () => {
    const expected = { chunked: false, sent: 'he\xffllo', keeps: true };
    expect(await stream({}, 200, LENGTH(6), ['he\xff', 'llo'])).toEqual(expected);
  });

  test('goes out in chunks where it is not, an empty piece left out, since it would end them (RFC 9112, 7.1)', async () => {
    const expected = { chunked: true, sent: '3\r\nhe\xff\r\n3\r\nllo\r\n0\r\nX: y\r\n\r\n', keeps: true };
    expect(await stream({}, 200, [], ['he\xff', '', 'llo'], ['X', 'y'])).toEqual(expected);
    const long = 'x'.repeat(16_385);
    expect((await stream({}, 200, [], [long])).sent).toBe(`4001\r\n${long}\r\n0\r\n\r\n`);
  });

  test('ends with the connection for HTTP/1.0, which knows no chunks', async () => {
    const asked = { httpMinor: 0, fields: ['Connection', 'keep-alive'] };
    expect(await stream(asked, 200, [], ['hello'])).toEqual({ chunked: false, sent: 'hello', keeps: false });
    expect(await stream(asked, 200, LENGTH(5), ['hello'])).toEqual({
      chunked: false,
      sent: 'hello',
      keeps: true,
    });
  });

  test('does not follow HEAD, 204 and 304 (RFC 9112, 6.3)', async () => {
    const expected = { chunked: false, sent: '', keeps: true };
    expect(await stream({ method: 'HEAD' }, 200, [], [])).toEqual(expected);
    for (const status of [204, 304]) expect(await stream({}, status, [], [])).toEqual(expected);
    const { downstream, wire } = request({ method: 'HEAD' });
    downstream.answer(200, '', LENGTH(5), 'hello', false);
    await turn();
    expect(wire.written.endsWith('\r\n\r\n')).toBe(true);
  });

  test('broken off does not look like its end', () => {
    for (const httpMinor of [0, 1]) {
      const { downstream, wire, side } = request({ httpMinor });
      downstream.head(200, '', []);
      downstream.abort();
      expect(side.resets).toBe(httpMinor === 0 ? 1 : 0);
      expect(wire.destroyed).toBe(httpMinor === 1);
    }
  });

  test('leaves as far as it came before it broke off, so that the client does not take its request for unanswered', async () => {
    const { downstream, wire } = request();
    downstream.head(200, '', LENGTH(5));
    downstream.write(Buffer.from('he'), null);
    downstream.abort();
    await turn();
    expect(wire.written.endsWith('\r\n\r\nhe')).toBe(true);
    expect(wire.destroyed).toBe(true);
  });

  test('written to a closed connection returns false, and writes nothing', async () => {
    const { downstream, wire, side } = request();
    wire.destroy();
    downstream.head(200, '', []);
    expect(downstream.write(Buffer.from('x'), null)).toBe(false);
    downstream.end([]);
    downstream.answer(200, '', [], '', false);
    await turn();
    expect(wire.written).toBe('');
    expect(side.answered).toBe(0);
  });
});

test('a request with an ambiguous body has none, and is not complete', () => {
  const { downstream, body } = request({ fields: ['Content-Length', 'x'] });
  expect(body).toBeNull();
  expect(downstream).toMatchObject({ requestComplete: false, awaitsClient: false, bytesReceived: 0 });
  expect(() => downstream.body(NO_TERMS)).toThrow('without a body');
});

test('a client is awaited from the start of its body to the end, unless the upstream is', () => {
  const { downstream, body } = request({ fields: LENGTH(2) });
  expect(downstream.awaitsClient).toBe(false);
  body?.start(SINK);
  expect(downstream.awaitsClient).toBe(true);
  body?.pause();
  expect(downstream.awaitsClient).toBe(false);
  body?.resume();
  body?.read(Buffer.from('ab'));
  expect(downstream).toMatchObject({ awaitsClient: false, requestComplete: true, bytesReceived: 2 });
});
