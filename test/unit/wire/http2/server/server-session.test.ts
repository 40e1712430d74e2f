import { describe, expect, test } from 'vitest';
import { block, frame, headers, request, settings, TYPE, uint32 } from '../../../../support/http2-frames.ts';
import { ScriptedClient } from '../../../../support/scripted-client.ts';

const END = 1;
const data = (stream: number, bytes: string | Buffer = '', flags = 0) =>
  frame(TYPE.data, flags, stream, bytes);
const get = (stream: number, ...more: [string, string][]) => headers(stream, [...request(), ...more]);
const post = (stream: number) => headers(stream, request('/', 'POST'), 4);
const reset = (stream: number, code = 8) => frame(TYPE.rstStream, 0, stream, uint32(code));
const windowUpdate = (stream: number, bytes: number) => frame(TYPE.windowUpdate, 0, stream, uint32(bytes));
const ping = frame(TYPE.ping, 0, 0, '12345678');
const HEAD = ':method,GET,:scheme,http,:path,/,:authority,a.test';
const ids = (count: number) => Array.from({ length: count }, (_, i) => 2 * i + 1);

describe('a session of a server', () => {
  test('begins with its SETTINGS and its window, before the client says anything', () => {
    expect(new ScriptedClient({ offersConnect: true }).frames()).toEqual([
      'settings 0 0003000000640009000000010008000000010004000186a0000600001000',
      `window 0 ${uint32(1_000_000 - 65_535).toString('hex')}`,
    ]);
    expect(new ScriptedClient({ offersConnect: false }).frames()[0]).not.toContain('000800000001');
  });

  test('hands on requests, and sends their responses', () => {
    const scripted = ScriptedClient.begun();
    scripted.send(get(1), post(3), data(3, 'hello'), data(3, '', END));
    const [one, two] = [scripted.request(1), scripted.request(3)];
    expect(one.events).toEqual([`${HEAD} end`]);
    expect(two.events.slice(1)).toEqual(['data hello', 'ended']);
    two.stream.info(103, ['link', '</a>']);
    two.stream.respond(200, ['X-A', 'b'], false);
    two.stream.write(Buffer.from('hi'));
    one.stream.respond(204, [], true);
    two.stream.end(['x-sum', '1']);
    expect(scripted.frames()).toEqual([
      ...['headers 3 :status,103,link,</a>', 'headers 3 :status,200,x-a,b', 'data 3 2'],
      ...['headers 1 :status,204 end', 'headers 3 x-sum,1 end'],
    ]);
    expect([one.events.at(-1), two.events.at(-1)]).toEqual(['closed: done', 'closed: done']);
    expect(scripted.session.openStreams).toBe(0);
  });

  test('reads its client in whatever pieces it comes', () => {
    const all = Buffer.concat([
      ...[Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), settings([4, 10]), post(1), data(1, 'abc'), ping],
      ...[data(1, 'def', END), get(3, ['x-large', 'y'.repeat(300)]), windowUpdate(0, 5), get(5)],
    ]);
    for (const bytes of [1, 2, 7, 9, 10, 33, 100]) {
      const scripted = new ScriptedClient();
      scripted.onRequest = ({ stream }) => stream.resume();
      for (let at = 0; at < all.length; at += bytes) scripted.send(all.subarray(at, at + bytes));
      expect(scripted.requests.map(({ stream }) => stream.id)).toEqual([1, 3, 5]);
      const body = scripted.request(1).events.slice(1).join('').replaceAll('data ', '');
      expect(body).toBe('abcdefended');
      expect(scripted.frames().slice(2)).toEqual(['settings 0 ack', 'ping 0 3132333435363738 ack']);
    }
  });

  test('gives the same section for the same block, as long as the table does not change', () => {
    const scripted = ScriptedClient.begun();
    scripted.send(get(1), get(3), get(5, ['x-a', 'b']), get(7));
    const [one, two, , four] = scripted.requests.map(({ head }) => head);
    expect([two === one, four === one]).toEqual([true, true]);
    // It indexes its last field.
    const indexing = block([['x-b', 'c']]).fill(0x40, 0, 1);
    scripted.send(frame(TYPE.headers, 5, 9, Buffer.concat([block(request()), indexing])), get(11));
    expect(scripted.request(11).head).toEqual(one);
    expect(scripted.request(11).head === one).toBe(false);
  });

  test('frees what it can while its client rests, and loses nothing by it', () => {
    const scripted = ScriptedClient.begun();
    const fields = ['x-a', 'b', 'x-c', 'd'];
    const answer = () => {
      scripted.requests.at(-1)?.stream.respond(200, fields, true);
      return scripted.frames();
    };
    scripted.send(get(1));
    const before = scripted.requests[0]?.head;
    expect(answer()).toEqual(['headers 1 :status,200,x-a,b,x-c,d end']);
    for (const nowMs of [0, 500, 1_000, 1_500]) scripted.session.sweep(nowMs);
    scripted.send(get(3));
    expect(scripted.requests[1]?.head).toEqual(before);
    expect(scripted.requests[1]?.head === before).toBe(false);
    expect(answer()).toEqual(['headers 3 :status,200,x-a,b,x-c,d end']);
  });

  test('fills one write after the other with a large response, and stops where the socket is full', () => {
    const scripted = ScriptedClient.begun([[4, 1_000_000]]);
    scripted.send(get(1), windowUpdate(0, 1_000_000));
    const { stream, events } = scripted.request(1);
    stream.respond(200, [], false);
    expect(stream.write(Buffer.alloc(150_000))).toBe(false);
    const bytes = () => scripted.rawFrames().reduce((sum, { payload }) => sum + payload.length, 0);
    const first = bytes();
    expect([first < 100_000, stream.unsent]).toEqual([true, 150_000 - (first - 1)]);
    scripted.session.writable = false;
    expect(bytes()).toBe(0);
    scripted.session.writable = true;
    expect([bytes() > 0, bytes() > 0, stream.unsent, events.at(-1)]).toEqual([true, true, 0, 'drained']);
  });

  test('sends the bytes of a stream in their order, and those of the next behind them, and is woken as long as any wait', () => {
    const scripted = ScriptedClient.begun([[4, 1_000_000]], { maxUnsent: 100_000 });
    scripted.send(get(1), get(3), windowUpdate(0, 1_000_000));
    const [one, two] = [1, 3].map(id => scripted.request(id).stream);
    for (const stream of [one, two]) stream?.respond(200, [], false);
    two?.write(Buffer.alloc(20_000, 'a'));
    expect(scripted.frames().slice(2)).toEqual(['data 3 16384', 'data 3 3616']);
    one?.write(Buffer.alloc(150_000, 'a'));
    const wakes: number[] = [];
    const take = () => {
      scripted.wakes = 0;
      const taken = scripted.rawFrames();
      wakes.push(scripted.wakes);
      return taken;
    };
    const first = take();
    one?.write(Buffer.from('b'));
    two?.write(Buffer.from('c'));
    const sent = [...first, ...take(), ...take(), ...take()];
    expect(sent.at(first.length)?.stream).toBe(1);
    const text = Buffer.concat(sent.map(({ stream, payload }) => (stream === 1 ? payload : Buffer.alloc(0))));
    expect(text.toString()).toBe(`${'a'.repeat(150_000)}b`);
    expect([wakes[0] === 0, wakes.at(-1)]).toEqual([false, 0]);
    // Nothing waits any more, so the next stream is not refused.
    scripted.send(get(5));
    expect(scripted.request(5).events).toEqual([`${HEAD} end`]);
  });

  test.each([60, 20])('sends nothing into a window that became %i smaller than what was sent', window => {
    const scripted = ScriptedClient.begun([[4, 100]]);
    scripted.send(get(1));
    const { stream } = scripted.request(1);
    stream.respond(200, [], false);
    stream.write(Buffer.alloc(60));
    // Nothing of it waits: this changes no count.
    scripted.send(frame(0x10, 0, 0, Buffer.concat([uint32(1), Buffer.from('u=1')])));
    scripted.frames();
    scripted.session.writable = false;
    stream.write(Buffer.alloc(50));
    scripted.send(settings([4, window]));
    scripted.session.writable = true;
    expect(scripted.frames()).toEqual(['settings 0 ack']);
    scripted.send(windowUpdate(1, 60 - window + 5));
    expect(scripted.frames()).toEqual(['data 1 5']);
  });

  test('sends no more on a stream that its client has reset while it waited', () => {
    const scripted = ScriptedClient.begun();
    scripted.send(get(1));
    const { stream, events } = scripted.request(1);
    stream.respond(200, [], false);
    scripted.frames();
    scripted.session.writable = false;
    stream.write(Buffer.from('waits'));
    stream.end();
    scripted.send(reset(1));
    scripted.session.writable = true;
    expect(scripted.frames()).toEqual([]);
    expect(events.at(-1)).toBe('closed: reset 8');
  });

  test('tells a handler that answers at once that its stream is closed', () => {
    const scripted = ScriptedClient.begun();
    scripted.onRequest = ({ stream }) => stream.respond(204, [], true);
    scripted.send(get(1));
    expect(scripted.request(1).events).toEqual([`${HEAD} end`, 'closed: done']);
  });

  test('says when a client has settings or a GOAWAY, and acknowledges what is due', () => {
    const scripted = ScriptedClient.begun();
    scripted.send(settings([2, 1], [3, 5]), ping, frame(TYPE.settings, 1, 0));
    scripted.send(frame(TYPE.goaway, 0, 0, Buffer.concat([uint32(0), uint32(11)])));
    expect(scripted.told).toEqual(['settled', 'settled', 'goaway 11']);
    expect(scripted.frames()).toEqual(['settings 0 ack', 'ping 0 3132333435363738 ack']);
  });

  test('tells each stream when the connection is lost', () => {
    const scripted = ScriptedClient.begun();
    scripted.send(get(1), post(3));
    scripted.session.lose();
    expect(scripted.requests.map(({ events }) => events.at(-1))).toEqual(['closed: lost', 'closed: lost']);
  });

  test('reads trailers of a stream behind a head that passes streams over', () => {
    const scripted = ScriptedClient.begun();
    scripted.send(post(1), get(7), headers(1, [['x-sum', '1']]));
    expect(scripted.request(1).events.slice(1)).toEqual(['x-sum,1', 'ended']);
  });

  test('refuses streams past the maximum, and follows the table for them', () => {
    const scripted = ScriptedClient.begun([], { maxStreams: 2 });
    const indexing = block([['x-b', 'c']]).fill(0x40, 0, 1);
    scripted.send(get(1), post(3), frame(TYPE.headers, 4, 5, Buffer.concat([block(request()), indexing])));
    scripted.send(data(5, 'late', END));
    expect(scripted.frames()).toEqual(['reset 5 00000007']);
    // It may be on its way even once the client knows the maximum.
    scripted.send(frame(TYPE.settings, 1, 0), post(9), data(9, 'late', END));
    expect(scripted.frames()).toEqual(['reset 9 00000007']);
    scripted.request(1).stream.respond(200, [], true);
    scripted.send(frame(TYPE.headers, 5, 11, Buffer.concat([block(request()), Buffer.from([0xbe])])));
    expect(scripted.request(11).head.fields.slice(-2)).toEqual(['x-b', 'c']);
  });

  test('refuses streams while too much waits for its client', () => {
    const scripted = ScriptedClient.begun([[4, 0]], { maxUnsent: 50_000 });
    scripted.send(get(1));
    const { stream } = scripted.request(1);
    stream.respond(200, [], false);
    stream.write(Buffer.alloc(50_001));
    scripted.send(get(3));
    expect(scripted.frames()).toEqual(['headers 1 :status,200', 'reset 3 0000000b']);
    stream.cancel(8);
    scripted.send(get(5));
    expect(scripted.request(5).events).toEqual([`${HEAD} end`]);
  });

  test('opens a part of many streams at a time, so that other connections have their turn', () => {
    const scripted = ScriptedClient.begun([], { maxStreams: 1_000 });
    expect(scripted.send(...ids(150).map(id => get(id)))).toBe(false);
    const seen = [scripted.requests.length];
    for (; scripted.session.isBehind; scripted.session.readOn()) seen.push(scripted.requests.length);
    // What comes meanwhile comes behind it.
    expect([seen, scripted.requests.length]).toEqual([[64, 64, 128], 150]);
    scripted.send(
      ...ids(230)
        .slice(150)
        .map(id => get(id)),
    );
    scripted.send(get(461));
    while (scripted.session.isBehind) scripted.session.readOn();
    expect(scripted.requests.map(({ stream }) => stream.id)).toEqual(ids(231));
  });
});

test('changes the windows of all streams a few times at a time, so that other connections have their turn', () => {
  const scripted = ScriptedClient.begun();
  for (const id of ids(96)) scripted.send(post(id));
  while (scripted.session.isBehind) scripted.session.readOn();
  scripted.frames();
  scripted.send(...Array.from({ length: 25 }, (_, i) => settings([4, i])));
  const acknowledged = [scripted.frames().length];
  for (; scripted.session.isBehind; acknowledged.push(scripted.frames().length)) scripted.session.readOn();
  expect(acknowledged).toEqual([11, 11, 3]);
});

test.each([
  ['a large part of its read where it is', 20_000, 1],
  ['a small part of its read as a copy', 5_000, 0],
])('hands on %s', (_, size, shared) => {
  const scripted = ScriptedClient.begun();
  scripted.send(post(1));
  const kept: Buffer[] = [];
  scripted.request(1).data = bytes => kept.push(bytes) > 0;
  const read = Buffer.allocUnsafeSlow(65_536);
  const length = [...frames(size)].reduce((at, part) => at + part.copy(read, at), 0);
  expect(scripted.session.read(read, length)).toBe(shared === 0);
  expect(kept.map(bytes => [bytes.length, Number(bytes.buffer === read.buffer)])).toEqual([[size, shared]]);
});

/** DATA of stream 1 in frames that may be sent. */
function* frames(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= 16_384) yield data(1, Buffer.alloc(Math.min(left, 16_384)));
}

describe('GOAWAY', () => {
  test('comes twice: streams that were on their way are still served', () => {
    const scripted = ScriptedClient.begun();
    scripted.send(get(1));
    scripted.session.shutDown();
    scripted.session.shutDown();
    scripted.send(get(3));
    expect(scripted.frames()).toEqual(['goaway 0 7fffffff00000000', 'ping 0 0000000000000000']);
    scripted.send(
      get(5),
      frame(TYPE.ping, 1, 0, Buffer.alloc(8)),
      get(7),
      post(9),
      data(9, 'x', END),
      reset(7),
    );
    expect(scripted.frames()).toEqual(['goaway 0 0000000500000000']);
    expect(scripted.requests.map(({ stream }) => stream.id)).toEqual([1, 3, 5]);
  });

  test('comes last once the client has acknowledged all that was asked, and never before it is due', () => {
    const scripted = ScriptedClient.begun();
    const acknowledgement = frame(TYPE.ping, 1, 0, Buffer.alloc(8));
    scripted.session.sendPing();
    scripted.send(acknowledgement, acknowledgement);
    scripted.session.sendPing();
    scripted.session.shutDown();
    scripted.frames();
    scripted.send(acknowledgement);
    expect(scripted.frames()).toEqual([]);
    scripted.send(acknowledgement);
    expect(scripted.frames()).toEqual(['goaway 0 0000000000000000']);
  });

  test('names the last stream that was looked at, whatever comes behind it', () => {
    const scripted = ScriptedClient.begun();
    scripted.send(get(1), get(3));
    scripted.session.goAway(0);
    scripted.send(get(5));
    scripted.session.goAway(11);
    expect(scripted.frames()).toEqual(['goaway 0 0000000300000000', 'goaway 0 000000030000000b']);
  });
});

describe('a client is at fault', () => {
  test.each<[string, number, Buffer[]]>([
    ['with an invalid preface', 1, [Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')]],
    ['with no SETTINGS behind its preface', 1, [Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), ping]],
  ])('%s', (_, code, bytes) => {
    expect(() => new ScriptedClient().send(...bytes)).toThrow(expect.objectContaining({ code }));
  });

  test.each<[string, number, Buffer[]]>([
    ['with a stream of an even number', 1, [get(2)]],
    ['with a stream below one that was opened', 1, [get(5), get(3)]],
    ['with the first stream behind another', 1, [get(5), get(1)]],
    ['with a stream below one that was opened, before the last', 1, [get(5), get(7), get(3)]],
    ['with WINDOW_UPDATE of a stream with an even number', 1, [get(5), windowUpdate(2, 1)]],
    ['with a stream below the last number there is', 1, [get(0x7fffffff), get(0x7ffffffd)]],
    ['with the last number there is once more', 5, [get(0x7fffffff), get(0x7fffffff)]],
    ['with HEADERS on a stream that has ended', 5, [get(1), get(1)]],
    ['with DATA on a stream that has ended', 5, [get(1), data(1, 'x')]],
    ['with DATA on an idle stream', 1, [data(1, 'x')]],
    ['with RST_STREAM of an idle stream', 1, [reset(1)]],
    ['with WINDOW_UPDATE of an idle stream', 1, [windowUpdate(1, 1)]],
    ['with a push', 1, [frame(TYPE.pushPromise, 4, 1, Buffer.concat([uint32(2), block(request())]))]],
    [
      'with a stream that depends on itself',
      1,
      [frame(TYPE.priority, 0, 1, Buffer.concat([uint32(1), Buffer.alloc(1)]))],
    ],
    [
      'with HEADERS that depend on themselves',
      1,
      [frame(TYPE.headers, 0x25, 1, Buffer.concat([uint32(1), Buffer.alloc(1), block(request())]))],
    ],
    [
      'with a PRIORITY_UPDATE on a stream',
      1,
      [frame(0x10, 0, 1, Buffer.concat([uint32(1), Buffer.from('u=1')]))],
    ],
    ['with a PRIORITY_UPDATE of no stream', 1, [frame(0x10, 0, 0, uint32(0))]],
    ['with a PRIORITY_UPDATE that is too short', 6, [frame(0x10, 0, 0, 'abc')]],
    ['with a block that cannot be decoded', 9, [frame(TYPE.headers, 5, 1, Buffer.from([0x80]))]],
    [
      'with more than the window of the connection',
      3,
      [post(1), ...ids(70).map(() => data(1, Buffer.alloc(16_000)))],
    ],
    ['with a window of the connection that overflows', 3, [windowUpdate(0, 0x7fffffff)]],
    ['with an acknowledgement of nothing', 1, [frame(TYPE.settings, 1, 0), frame(TYPE.settings, 1, 0)]],
    [
      'with a header block that is larger than any head may be',
      11,
      [frame(TYPE.headers, 1, 1, Buffer.alloc(4_000)), frame(TYPE.continuation, 0, 1, Buffer.alloc(100))],
    ],
  ])('%s', (_, code, frames) => {
    const scripted = ScriptedClient.begun();
    scripted.onRequest = () => {};
    expect(() => scripted.send(...frames)).toThrow(expect.objectContaining({ code }));
  });

  test('but by no window of 2^31-1 bytes (RFC 9113, 6.9.1), and by one more', () => {
    const scripted = ScriptedClient.begun();
    scripted.onRequest = () => {};
    scripted.send(post(1), windowUpdate(0, 0x7fffffff - 65_535), windowUpdate(1, 0x7fffffff - 65_535));
    scripted.send(settings([4, 65_534]), settings([4, 65_535]));
    expect(() => scripted.send(settings([4, 65_536]))).toThrow(expect.objectContaining({ code: 3 }));
    expect(() => scripted.send(windowUpdate(0, 1))).toThrow(expect.objectContaining({ code: 3 }));
  });

  test('by one or the other only with what it can know: a stream that was reset may still get DATA', () => {
    const scripted = ScriptedClient.begun();
    scripted.send(post(1), post(3));
    for (const { stream } of scripted.requests) stream.cancel(2);
    scripted.send(
      data(1, 'x'),
      data(3, 'x', END),
      headers(1, [['x-sum', '1']]),
      windowUpdate(3, 5),
      reset(1),
    );
    expect(scripted.frames()).toEqual(['reset 1 00000002', 'reset 3 00000002']);
  });

  test('on the stream alone with what it sends behind its own reset, and not so behind the end of its request', () => {
    const scripted = ScriptedClient.begun();
    scripted.send(post(1), reset(1), data(1, 'x'), get(3));
    expect(scripted.frames()).toEqual(['reset 1 00000005']);
    scripted.request(3).stream.respond(204, [], true);
    expect(() => scripted.send(data(3, 'x'))).toThrow(expect.objectContaining({ code: 5 }));
  });
});
