import { describe, expect, test } from 'vitest';
import { frame, headers, settings, TYPE, uint32 } from '../../../../support/http2-frames.ts';
import { ScriptedSession } from '../../../../support/scripted-session.ts';

const OK = [[':status', '200']] as const;
const END = 1;
const PADDED = 8;
const data = (stream: number, bytes: string | Buffer = '', flags = 0) =>
  frame(TYPE.data, flags, stream, bytes);
const head = (stream: number, flags = 4) => headers(stream, OK, flags);

describe('a session of a client', () => {
  test('begins with its SETTINGS and its window, and waits for those of the server', () => {
    const scripted = new ScriptedSession();
    expect(scripted.session.take().subarray(0, 24).toString()).toBe('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    expect(new ScriptedSession().frames()).toEqual([
      'settings 0 0002000000000004000186a0000600001000',
      `window 0 ${uint32(1_000_000 - 65_535).toString('hex')}`,
    ]);
    scripted.send(settings([3, 7]));
    expect([scripted.told, scripted.session.maxStreams]).toEqual([['settled'], 7]);
    expect(scripted.session.take().toString('hex')).toBe('000000040100000000');
  });

  test('gives its requests odd numbers, and their responses to their handlers', () => {
    const scripted = ScriptedSession.begun();
    const [one, two] = [scripted.open(), scripted.open(false, [':method', 'POST', 'X-A', 'b'])];
    expect(scripted.frames()).toEqual(['headers 1 :method,GET end', 'headers 3 :method,POST,x-a,b']);
    two.stream.write(Buffer.from('hello'));
    two.stream.end();
    expect(scripted.frames()).toEqual(['data 3 5 end']);
    scripted.send(headers(3, [[':status', '103']], 4), head(3), data(3, 'hi'), head(1, 5));
    scripted.send(data(3, ' there'), headers(3, [['x-sum', '1']]));
    expect(one.handler.events).toEqual([':status,200 end', 'ended']);
    expect(two.handler.events).toEqual([
      ...[':status,103', ':status,200', 'data hi', 'data  there', 'x-sum,1 end', 'ended'],
    ]);
    expect(scripted.frames()).toEqual([]);
  });

  test('acknowledges PING and SETTINGS, and takes acknowledgements', () => {
    const scripted = ScriptedSession.begun();
    scripted.session.sendPing();
    scripted.send(frame(TYPE.ping, 0, 0, '12345678'), settings([3, 5]), frame(TYPE.settings, 1, 0));
    scripted.send(frame(TYPE.ping, 1, 0, Buffer.alloc(8)));
    expect(scripted.frames()).toEqual([
      ...['ping 0 0000000000000000', 'ping 0 3132333435363738 ack', 'settings 0 ack'],
    ]);
    expect(scripted.session.maxStreams).toBe(5);
  });

  test('follows the table that the server has for headers', () => {
    const scripted = ScriptedSession.begun();
    const fields = [':method', 'GET', 'x-a', 'y'.repeat(100)];
    scripted.open(true, fields);
    scripted.send(settings([1, 0]));
    scripted.open(true, fields);
    scripted.open(true, fields);
    const sent = scripted.rawFrames().filter(({ type }) => type === TYPE.headers);
    expect(sent.map(({ payload }) => payload.length)).toEqual([107, 108, 107]);
    expect(sent[1]?.payload[0]).toBe(0x20);
  });

  test('ignores what still comes on a stream that it has given up, and counts it', () => {
    const scripted = ScriptedSession.begun([], { connectionWindow: 100_000 });
    const { handler, stream } = scripted.open();
    stream.cancel();
    scripted.frames();
    scripted.send(head(1), ...Array.from({ length: 4 }, () => data(1, Buffer.alloc(13_000))));
    scripted.send(frame(TYPE.windowUpdate, 0, 1, uint32(5)), frame(TYPE.rstStream, 0, 1, uint32(0)));
    expect(handler.events).toEqual([]);
    expect(scripted.frames()).toEqual([`window 0 ${uint32(52_000).toString('hex')}`]);
  });

  test('hands large pieces on where they are, and says so; small ones are copied, and so is what has to wait', () => {
    const scripted = ScriptedSession.begun();
    const { handler, stream } = scripted.open();
    const large = data(1, Buffer.alloc(5_000));
    expect([
      scripted.send(head(1), data(1, 'small')),
      scripted.send(large),
      scripted.send(data(1, 'x')),
    ]).toEqual([...[true, false, true]]);
    handler.wantsMore = false;
    scripted.send(data(1, 'x'));
    expect(scripted.send(large)).toBe(true);
    expect(handler.areLent).toEqual([false, true, false, false]);
    stream.cancel();
    expect(scripted.send(large)).toBe(true);
  });

  test('takes empty DATA as long as something comes in between, a head or bytes', () => {
    const scripted = ScriptedSession.begun();
    const calls = [scripted.open(), scripted.open()];
    const empty = Array.from({ length: 100 }, () => data(1));
    scripted.send(head(1), ...empty, data(1, 'x'), ...empty, head(3), ...empty, data(1, '', END));
    expect(calls.map(({ handler }) => handler.events.at(-1))).toEqual(['ended', ':status,200']);
  });

  test('tells each stream when the connection is lost', () => {
    const scripted = ScriptedSession.begun();
    const calls = [scripted.open(), scripted.open(false)];
    scripted.session.lose();
    expect(calls.map(({ handler }) => handler.events)).toEqual([['closed: lost'], ['closed: lost']]);
  });
});

describe('GOAWAY', () => {
  test('closes the streams that the server has not looked at, and leaves the others', () => {
    const scripted = ScriptedSession.begun();
    const calls = [scripted.open(), scripted.open(), scripted.open()];
    scripted.send(frame(TYPE.goaway, 0, 0, Buffer.concat([uint32(0x7fffffff), uint32(0)])));
    scripted.send(frame(TYPE.goaway, 0, 0, Buffer.concat([uint32(3), uint32(0)])));
    scripted.send(head(1, 5));
    expect(calls.map(({ handler }) => handler.events.at(-1))).toEqual([
      'ended',
      undefined,
      'closed: unprocessed 0',
    ]);
    expect(scripted.told.slice(1)).toEqual(['goaway 2147483647 0', 'goaway 3 0']);
  });

  test('goes out with its code', () => {
    const scripted = ScriptedSession.begun();
    scripted.session.goAway(11);
    expect(scripted.frames()).toEqual(['goaway 0 000000000000000b']);
  });
});

describe('the windows of a server', () => {
  const post = (scripted: ScriptedSession, bytes: number) => {
    const call = scripted.open(false);
    return { ...call, left: call.stream.write(Buffer.alloc(bytes)) };
  };
  const sentBy = (scripted: ScriptedSession) => scripted.frames().filter(text => text.startsWith('data'));

  test('hold back what is more than that of the stream', () => {
    const scripted = ScriptedSession.begun([[4, 10]]);
    const { handler, stream, left } = post(scripted, 25);
    expect([left, stream.unsent, sentBy(scripted)]).toEqual([false, 15, ['data 1 10']]);
    scripted.send(frame(TYPE.windowUpdate, 0, 1, uint32(9)));
    expect([sentBy(scripted), handler.events]).toEqual([['data 1 9'], []]);
    stream.end();
    scripted.send(settings([4, 16]));
    expect([sentBy(scripted), stream.unsent, handler.events]).toEqual([['data 1 6 end'], 0, []]);
  });

  test('hold back what is more than that of the connection, and let streams take turns then', () => {
    const scripted = ScriptedSession.begun([[4, 1_000_000]]);
    const [one, two] = [post(scripted, 70_000), post(scripted, 40_000)];
    expect(sentBy(scripted)).toEqual(['data 1 16384', 'data 1 16384', 'data 1 16384', 'data 1 16383']);
    scripted.send(frame(TYPE.windowUpdate, 0, 0, uint32(40_000)));
    expect(sentBy(scripted)).toEqual(['data 1 4465', 'data 3 16384', 'data 3 16384', 'data 3 2767']);
    expect([one.handler.events, two.handler.events]).toEqual([['drained'], []]);
  });

  test('that grow little by little let streams take turns all the same', () => {
    const scripted = ScriptedSession.begun([[4, 1_000_000]]);
    for (const bytes of [65_535, 30, 30, 30]) post(scripted, bytes);
    scripted.frames();
    const sent: string[] = [];
    for (let i = 0; i < 4; i++) {
      scripted.send(frame(TYPE.windowUpdate, 0, 0, uint32(20)));
      sent.push(...sentBy(scripted));
    }
    expect(sent).toEqual(['data 3 20', 'data 5 20', 'data 7 20', 'data 3 10', 'data 5 10']);
  });

  test('may become smaller than what was sent already', () => {
    const scripted = ScriptedSession.begun([[4, 100]]);
    const { stream } = post(scripted, 100);
    scripted.send(settings([4, 10]), frame(TYPE.windowUpdate, 0, 1, uint32(90)));
    expect(sentBy(scripted)).toEqual(['data 1 100']);
    expect(stream.write(Buffer.alloc(5))).toBe(false);
    scripted.send(frame(TYPE.windowUpdate, 0, 1, uint32(5)));
    expect(sentBy(scripted)).toEqual(['data 1 5']);
  });

  test('forget a stream that is given up', () => {
    const scripted = ScriptedSession.begun([[4, 1_000_000]]);
    const [one, two] = [post(scripted, 70_000), post(scripted, 5)];
    one.stream.cancel();
    scripted.frames();
    scripted.send(frame(TYPE.windowUpdate, 0, 0, uint32(100_000)));
    expect([scripted.frames(), two.handler.events]).toEqual([['data 3 5'], ['drained']]);
  });

  test('matter as little as the rest while the socket is full', () => {
    const scripted = ScriptedSession.begun();
    scripted.session.writable = false;
    const { handler } = post(scripted, 10);
    scripted.send(frame(TYPE.ping, 0, 0, '12345678'));
    expect(scripted.frames()).toEqual(['headers 1 :method,GET', 'ping 0 3132333435363738 ack']);
    scripted.session.writable = true;
    expect([scripted.frames(), handler.events]).toEqual([['data 1 10'], ['drained']]);
  });
});

describe('a server is at fault', () => {
  const many = (count: number, make: () => Buffer) => Array.from({ length: count }, make);

  test.each<[string, number, Buffer[]]>([
    ['with DATA on an idle stream', 1, [data(3, 'x')]],
    ['with HEADERS on an idle stream', 1, [head(3)]],
    ['with HEADERS on a stream of its own', 1, [head(2)]],
    ['with RST_STREAM of an idle stream', 1, [frame(TYPE.rstStream, 0, 3, uint32(0))]],
    ['with WINDOW_UPDATE of an idle stream', 1, [frame(TYPE.windowUpdate, 0, 4, uint32(1))]],
    ['with a block that cannot be decoded', 9, [frame(TYPE.headers, 4, 1, Buffer.from([0x80]))]],
    [
      'with a block that cannot be decoded on a closed stream',
      9,
      [frame(TYPE.rstStream, 0, 1, uint32(0)), frame(TYPE.headers, 4, 1, Buffer.from([0x80]))],
    ],
    [
      'with a window of the connection that overflows',
      3,
      [frame(TYPE.windowUpdate, 0, 0, uint32(0x7fffffff))],
    ],
    [
      'with a first window that makes one overflow',
      3,
      [frame(TYPE.windowUpdate, 0, 1, uint32(0x7fff0000)), settings([4, 0x7fffffff])],
    ],
    ['with a first window that is too large', 3, [settings([4, 0x80000000])]],
    ['with an acknowledgement of nothing', 1, [frame(TYPE.settings, 1, 0), frame(TYPE.settings, 1, 0)]],
    ['with an acknowledgement of no PING', 1, [frame(TYPE.ping, 1, 0, '12345678')]],
    [
      'with a GOAWAY that goes up',
      1,
      [
        frame(TYPE.goaway, 0, 0, Buffer.concat([uint32(1), uint32(0)])),
        frame(TYPE.goaway, 0, 0, Buffer.concat([uint32(3), uint32(0)])),
      ],
    ],
    ['with a GOAWAY of its own stream', 1, [frame(TYPE.goaway, 0, 0, Buffer.concat([uint32(2), uint32(0)]))]],
    ['with floods of PING', 11, many(1_001, () => frame(TYPE.ping, 0, 0, '12345678'))],
    ['with floods of SETTINGS', 11, many(1_001, () => settings())],
    ['with empty DATA', 11, [head(1), ...many(101, () => data(1))]],
    ['with DATA of padding alone', 11, [head(1), ...many(101, () => data(1, '\0', PADDED))]],
  ])('%s', (_, code, frames) => {
    const scripted = ScriptedSession.begun();
    scripted.open(false);
    const send = () => {
      for (const each of frames) scripted.send(each);
    };
    expect(send).toThrow(expect.objectContaining({ code }));
  });

  test.each([
    ['DATA', data(1, 'y')],
    ['HEADERS', head(1)],
  ])('with %s behind the end of a response, while the request goes on', (_, late) => {
    const scripted = ScriptedSession.begun();
    // Otherwise the stream is given up, and what comes on it ignored.
    scripted.open(false).handler.wantsMore = false;
    scripted.send(head(1), data(1, 'x', END));
    expect(() => scripted.send(late)).toThrow(expect.objectContaining({ code: 5 }));
  });

  test('no longer when its acknowledgements have been taken', () => {
    const scripted = ScriptedSession.begun();
    for (let i = 0; i < 3_000; i++) {
      scripted.send(frame(TYPE.ping, 0, 0, '12345678'));
      if (i % 900 === 0) scripted.frames();
    }
    expect(scripted.frames().length).toBeGreaterThan(0);
  });
});
