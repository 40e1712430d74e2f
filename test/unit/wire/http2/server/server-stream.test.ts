import { describe, expect, test } from 'vitest';
import type { ServerSessionOptions } from '../../../../../src/wire/http2/index.ts';
import { frame, headers, request, TYPE, uint32 } from '../../../../support/http2-frames.ts';
import { ScriptedClient } from '../../../../support/scripted-client.ts';

const END = 1;
const data = (bytes: string | Buffer = '', flags = 0) => frame(TYPE.data, flags, 1, bytes);
const trailers = headers(1, [['x-sum', '1']]);
const post = (...more: [string, string][]) => headers(1, [...request('/', 'POST'), ...more], 4);
const PROTOCOL_ERROR = 'reset 1 00000001';

/** A session with a request whose body is yet to come. */
function posting(options: Partial<ServerSessionOptions> = {}, flows = true, ...more: [string, string][]) {
  const scripted = ScriptedClient.begun([], options);
  if (!flows) scripted.onRequest = () => {};
  scripted.send(post(...more));
  const { stream, events } = scripted.request(1);
  events.length = 0;
  return { scripted, stream, events, handler: scripted.request(1) };
}

describe('the body of a request', () => {
  test('waits until it is wanted, with its trailers and its end', () => {
    const { scripted, stream, events } = posting({}, false);
    scripted.send(data('one'), data('two'));
    scripted.send(data('three'), trailers);
    expect(events).toEqual([]);
    stream.resume();
    expect(events).toEqual(['data onetwothree', 'x-sum,1', 'ended']);
  });

  test('that is none but trailers waits as well', () => {
    const { scripted, stream, events } = posting({}, false);
    scripted.send(trailers);
    stream.resume();
    expect(events).toEqual(['x-sum,1', 'ended']);
  });

  test('may come in pieces that are as long as its length together', () => {
    const { scripted, events } = posting({}, true, ['content-length', '5']);
    scripted.send(data('12'), data(), data('345'), data('', END));
    expect(events).toEqual(['data 12', 'data 345', 'ended']);
  });

  test('stops where its handler has enough', () => {
    const { scripted, stream, events, handler } = posting();
    handler.wantsMore = false;
    scripted.send(data('one'), frame(TYPE.ping, 0, 0, '12345678'), data('two', END));
    expect(events).toEqual(['data one']);
    for (let i = 0; i < 3; i++) stream.resume();
    expect(events).toEqual(['data one', 'data two', 'ended']);
  });

  test('opens its window, and that of the connection, as it is taken', () => {
    const { scripted, stream } = posting({ streamWindow: 70_000, connectionWindow: 70_000 }, false);
    scripted.send(frame(TYPE.settings, 1, 0), ...Array.from({ length: 4 }, () => data(Buffer.alloc(10_000))));
    expect(scripted.frames()).toEqual([]);
    stream.resume();
    const opened = uint32(40_000).toString('hex');
    expect(scripted.frames()).toEqual([`window 0 ${opened}`, `window 1 ${opened}`]);
  });

  test('gives its window of the connection back when nobody takes it any more', () => {
    const { scripted, stream } = posting({ connectionWindow: 70_000 }, false);
    scripted.send(data(Buffer.alloc(16_000)), data(Buffer.alloc(16_000)), data(Buffer.alloc(2_000)));
    stream.cancel();
    scripted.send(data(Buffer.alloc(2_000)));
    expect(scripted.frames()).toEqual(['reset 1 00000008', `window 0 ${uint32(36_000).toString('hex')}`]);
  });

  test('may be as large as the usual window before the client knows ours, and as ours then', () => {
    const { scripted, events } = posting({ streamWindow: 10 }, false);
    scripted.send(data(Buffer.alloc(10)), frame(TYPE.settings, 1, 0), data());
    expect(scripted.frames()).toEqual([]);
    scripted.send(data('x'));
    expect(scripted.frames()).toEqual(['reset 1 00000003']);
    expect(events).toEqual(['closed: malformed more than the window of the stream']);
  });

  test('leaves the window of the connection as it was where it is too large for its own', () => {
    const { scripted } = posting({ streamWindow: 10, connectionWindow: 70_000 }, false);
    scripted.send(frame(TYPE.settings, 1, 0), data(Buffer.alloc(16_000)), data(Buffer.alloc(16_000)));
    scripted.send(data(Buffer.alloc(3_000)));
    expect(scripted.frames()).toEqual(['reset 1 00000003', `window 0 ${uint32(35_000).toString('hex')}`]);
  });
});

describe('a malformed request', () => {
  const LONG: [string, string] = ['content-length', '5'];

  test.each<[string, [string, string][]]>([
    ['without a method', request().slice(1)],
    ['without a path', request().filter(([name]) => name !== ':path')],
    [
      'with a scheme that cannot be',
      request().map(([name, value]) => [name, name === ':scheme' ? 'h;p' : value]),
    ],
    ['without a scheme', request().filter(([name]) => name !== ':scheme')],
    ['with an empty path', request('')],
    ['with a second path', [[':path', '/'], ...request()]],
    ['with a pseudo-field of a response', [[':status', '200'], ...request()]],
    ['with an unknown pseudo-field', [[':x', 'y'], ...request()]],
    ['with a pseudo-header field after a regular field', [['x-a', 'b'], ...request()]],
    ['with capitals in a name', [...request(), ['X-A', 'b']]],
    ['with a name that is no token', [...request(), ['x a', 'b']]],
    ['with a value of more lines', [...request(), ['x-a', 'b\r\nc: d']]],
    ['with a blank around a value', [...request(), ['x-a', ' b']]],
    ['with a field of a connection', [...request(), ['connection', 'close']]],
    ['with a te that is not trailers', [...request(), ['te', 'trailers, gzip']]],
    ['with a length that is none', [...request(), ['content-length', '+1']]],
    ['with two lengths', [...request(), ['content-length', '0'], ['content-length', '0']]],
    ['with a length and no body', [...request(), LONG]],
    ['with :protocol, which is not offered', [...request('/', 'CONNECT'), [':protocol', 'websocket']]],
    ['with a CONNECT that has a path', request('/', 'CONNECT')],
    ['with a CONNECT of no place', [[':method', 'CONNECT']]],
  ])('%s is answered, and its stream reset', (_, fields) => {
    const scripted = ScriptedClient.begun();
    scripted.send(headers(1, fields));
    const { head, stream, events } = scripted.request(1);
    expect(head.flaw).not.toBeNull();
    stream.respond(400, ['x-why', 'a'], false);
    stream.write(Buffer.from('no'));
    stream.end();
    expect(scripted.frames()).toEqual(['headers 1 :status,400,x-why,a', 'data 1 2', PROTOCOL_ERROR]);
    expect(events.slice(1)).toEqual(['closed: done']);
  });

  test('that is only too large is answered in peace', () => {
    const scripted = ScriptedClient.begun([], { maxBytes: 300 });
    scripted.send(headers(1, [...request(), ['x-a', 'b'.repeat(300)]]));
    scripted.request(1).stream.respond(431, [], true);
    expect(scripted.frames()).toEqual(['headers 1 :status,431 end']);
  });

  test.each<[string, Buffer[], string]>([
    ['longer than its length', [data('123456')], 'more than content-length says'],
    ['shorter than its length', [data('1234', END)], 'less than content-length says'],
    ['that its trailers make too short', [data('1234'), trailers], 'less than content-length says'],
    [
      'with a head inside',
      [data('12345'), headers(1, [['x-sum', '1']], 4)],
      'a header section inside a body',
    ],
    [
      'with a pseudo-field in its trailers',
      [data('12345'), headers(1, [[':path', '/']])],
      'a pseudo-field in trailers',
    ],
    ['with invalid trailers', [data('12345'), headers(1, [['X', '1']])], 'a field that HTTP/2 forbids'],
  ])('is one with a body %s, answered or not', (_, frames, why) => {
    const unanswered = posting({}, true, LONG);
    unanswered.scripted.send(...frames);
    expect(unanswered.events.slice(-2)).toEqual([`malformed: ${why}`, 'closed: done']);
    expect(unanswered.scripted.frames()).toEqual(['headers 1 :status,400', PROTOCOL_ERROR]);

    const answered = posting({}, true, LONG);
    answered.stream.respond(200, [], false);
    answered.scripted.send(...frames);
    expect(answered.events.at(-1)).toBe(`closed: malformed ${why}`);
    expect(answered.scripted.frames()).toEqual(['headers 1 :status,200', PROTOCOL_ERROR]);
  });

  test('is read no further while its answer waits', () => {
    const { scripted, stream, handler, events } = posting({ connectionWindow: 70_000 }, true, LONG);
    handler.malformed = why => void events.push(why);
    scripted.send(data('123456'), headers(1, [['x-sum', '1']], 4), data('78'));
    scripted.send(data(Buffer.alloc(16_000)), data('', END));
    stream.respond(400, [], true);
    expect(events).toEqual(['more than content-length says', 'closed: done']);
    expect(scripted.frames()).toEqual(['headers 1 :status,400', PROTOCOL_ERROR]);
  });

  test('by a window that overflows is reset', () => {
    const { scripted, events } = posting();
    scripted.send(frame(TYPE.windowUpdate, 0, 1, uint32(0x7fffffff)));
    expect(scripted.frames()).toEqual(['reset 1 00000003']);
    expect(events).toEqual(['closed: malformed an overflow of a stream window']);
  });
});

describe('CONNECT', () => {
  const extended: [string, string][] = [...request('/chat', 'CONNECT'), [':protocol', 'websocket']];

  test('that is extended opens a stream both ways, where it is offered', () => {
    const scripted = ScriptedClient.begun([], { offersConnect: true });
    scripted.send(headers(1, extended, 4));
    const { stream, events } = scripted.request(1);
    stream.respond(200, [], false);
    scripted.send(data('hello'));
    stream.write(Buffer.from('hi'));
    scripted.send(data('', END));
    stream.end();
    expect(events.slice(1)).toEqual(['data hello', 'ended', 'closed: done']);
    expect(scripted.frames()).toEqual(['headers 1 :status,200', 'data 1 2 end']);
  });

  test('names a place, and no path', () => {
    const scripted = ScriptedClient.begun();
    scripted.send(
      headers(
        1,
        [
          [':method', 'CONNECT'],
          [':authority', 'a.test:443'],
        ],
        4,
      ),
    );
    expect(scripted.request(1).head.flaw).toBeNull();
  });
});

describe('a response', () => {
  test('that comes before the end of its request tells the client to stop, once all of it is sent', () => {
    const { scripted, stream, events } = posting();
    stream.respond(413, [], false);
    stream.write(Buffer.alloc(65_536));
    stream.end();
    stream.dropRest();
    expect(scripted.frames().at(-1)).toBe('data 1 16383');
    scripted.send(data(Buffer.alloc(16_000)));
    scripted.send(frame(TYPE.windowUpdate, 0, 0, uint32(10)), frame(TYPE.windowUpdate, 0, 1, uint32(10)));
    expect(scripted.frames()).toEqual(['data 1 1 end', 'reset 1 00000000']);
    expect(events).toEqual(['closed: done']);
  });

  test('that was sent before its client is told to stop does so at once', () => {
    const { scripted, stream } = posting();
    stream.respond(413, [], true);
    expect([stream.isAnswered, stream.isClosed]).toEqual([true, false]);
    stream.dropRest();
    expect(scripted.frames()).toEqual(['headers 1 :status,413 end', 'reset 1 00000000']);
  });

  test('that still goes on gives the window of the connection back for what is not wanted', () => {
    const { scripted, stream } = posting({ connectionWindow: 70_000 });
    stream.respond(413, [], false);
    stream.dropRest();
    scripted.send(...Array.from({ length: 5 }, () => data(Buffer.alloc(7_000))));
    expect(scripted.frames()).toEqual([
      ...['headers 1 :status,413', `window 0 ${uint32(35_000).toString('hex')}`],
    ]);
  });

  test('needs no such word if the request ends meanwhile', () => {
    const { scripted, stream, events } = posting();
    stream.respond(413, [], false);
    stream.dropRest();
    scripted.send(data('x', END));
    stream.end();
    expect(scripted.frames()).toEqual(['headers 1 :status,413', 'data 1 0 end']);
    expect(events).toEqual(['closed: done']);
  });

  test('may be given up, and its handler hears nothing more', () => {
    const { scripted, stream, events } = posting();
    stream.respond(200, [], false);
    expect([stream.cancel(2), stream.cancel(2)]).toEqual([true, false]);
    stream.write(Buffer.from('x'));
    stream.end();
    stream.info(103, []);
    scripted.session.lose();
    expect(scripted.frames()).toEqual(['headers 1 :status,200', 'reset 1 00000002']);
    expect(events).toEqual([]);
  });

  test('waits for the windows of its client, behind which come its trailers', () => {
    const scripted = ScriptedClient.begun([[4, 4]]);
    scripted.send(headers(1, request()));
    const { stream, events } = scripted.request(1);
    stream.respond(200, [], false);
    expect([stream.write(Buffer.from('hello')), stream.unsent]).toEqual([false, 1]);
    scripted.send(frame(TYPE.windowUpdate, 0, 1, uint32(1)));
    stream.end(['grpc-status', '0']);
    expect(events.slice(1)).toEqual(['drained', 'closed: done']);
    expect(scripted.frames()).toEqual(['headers 1 :status,200', 'data 1 5', 'headers 1 grpc-status,0 end']);
  });

  test('is broken off by its client', () => {
    const { scripted, stream, events } = posting();
    stream.respond(200, [], false);
    scripted.send(frame(TYPE.rstStream, 0, 1, uint32(8)));
    expect([events, stream.write(Buffer.from('x')), stream.isClosed]).toEqual([
      ['closed: reset 8'],
      false,
      true,
    ]);
  });

  test('has one head, and none behind it', () => {
    const { scripted, stream } = posting();
    stream.respond(200, [], false);
    stream.respond(500, [], true);
    stream.info(103, []);
    expect(scripted.frames()).toEqual(['headers 1 :status,200']);
    stream.end();
    expect(stream.write(Buffer.from('late'))).toBe(false);
    stream.end();
    expect(scripted.frames()).toEqual(['data 1 0 end']);
  });
});
