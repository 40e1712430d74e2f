import { describe, expect, test } from 'vitest';
import { FLAG, frame, headers, request, settings, TYPE, uint32 } from '../../../../support/http2-frames.ts';
import { ScriptedClient } from '../../../../support/scripted-client.ts';

const get = (stream: number) => headers(stream, request());
const post = (stream: number) => headers(stream, request('/', 'POST'), 4);
const reset = (stream: number) => frame(TYPE.rstStream, 0, stream, uint32(8));
const windowUpdate = (stream: number, bytes: number) => frame(TYPE.windowUpdate, 0, stream, uint32(bytes));
const data = (stream: number) => frame(TYPE.data, 0, stream);

/** Sends such frames until the session has had enough, at most so many. Returns how many it took, and why it stopped. */
function flood(scripted: ScriptedClient, make: (i: number) => Buffer[], most = 20_000) {
  for (let i = 0; i < most; i++) {
    try {
      scripted.send(...make(i));
    } catch (fault) {
      return [i, Reflect.get(Object(fault), 'code'), Reflect.get(Object(fault), 'reason')];
    }
    scripted.session.take();
  }
  return most;
}

describe('floods end the connection', () => {
  test.each<[string, (i: number) => Buffer[], number, string]>([
    ['of resets', i => [get(2 * i + 1), reset(2 * i + 1)], 500, 'resets'],
    [
      'of resets that the client provokes',
      i => [post(2 * i + 1), windowUpdate(2 * i + 1, 0x7fffffff)],
      500,
      'resets',
    ],
    ['of PING', () => [frame(TYPE.ping, 0, 0, '12345678')], 4_999, 'control_frames'],
    ['of SETTINGS', () => [settings()], 4_999, 'control_frames'],
    ['of PRIORITY', () => [frame(TYPE.priority, 0, 1, Buffer.alloc(5))], 4_999, 'control_frames'],
    ['of PRIORITY_UPDATE', i => [frame(0x10, 0, 0, uint32(2 * i + 1))], 4_999, 'control_frames'],
    ['of WINDOW_UPDATE', () => [windowUpdate(0, 1)], 4_999, 'control_frames'],
    ['of frames of unknown types', () => [frame(0x77, 0, 0)], 4_999, 'control_frames'],
    [
      'of RST_STREAM of a stream that is closed',
      i => (i === 0 ? [get(1), reset(1)] : [reset(1)]),
      5_004,
      'control_frames',
    ],
    [
      'of DATA behind a reset',
      i => (i === 0 ? [post(1), reset(1)] : [frame(TYPE.data, 0, 1, 'x')]),
      5_004,
      'control_frames',
    ],
    ['of acknowledgements of no PING', () => [frame(TYPE.ping, 1, 0, '12345678')], 4_999, 'control_frames'],
    ['of GOAWAY', () => [frame(TYPE.goaway, 0, 0, Buffer.alloc(8))], 4_999, 'control_frames'],
  ])('%s', (_, make, most, reason) => {
    expect(flood(ScriptedClient.begun(), make)).toEqual([most, 11, reason]);
  });

  test('of empty DATA', () => {
    const scripted = ScriptedClient.begun();
    scripted.send(post(1));
    expect(flood(scripted, () => [data(1)])).toEqual([100, 11, 'invalid_frames']);
  });

  test('of streams past the maximum', () => {
    const scripted = ScriptedClient.begun([], { maxStreams: 1 });
    scripted.send(frame(TYPE.settings, FLAG.ack, 0), get(1));
    expect(flood(scripted, i => [get(2 * i + 3)])).toEqual([100, 11, 'refused_streams']);
  });

  test('of streams while too much waits for the client', () => {
    const scripted = ScriptedClient.begun([[4, 0]], { maxUnsent: 10 });
    scripted.send(get(1));
    const { stream } = scripted.request(1);
    stream.respond(200, [], false);
    stream.write(Buffer.alloc(11));
    expect(flood(scripted, i => [get(2 * i + 3)])).toEqual([100, 11, 'refused_streams']);
  });

  test('of streams past a maximum that the client never acknowledges', () => {
    const scripted = ScriptedClient.begun([], { maxStreams: 1 });
    scripted.send(get(1));
    expect(flood(scripted, i => [get(2 * i + 3)])).toEqual([5_003, 11, 'control_frames']);
  });

  test('of SETTINGS that open the windows of many streams byte by byte', () => {
    const scripted = ScriptedClient.begun([[4, 0]]);
    scripted.onRequest = ({ stream }) => {
      stream.respond(200, [], false);
      stream.write(Buffer.alloc(9_000));
    };
    for (let i = 0; i < 100; i++) scripted.send(get(2 * i + 1));
    while (scripted.session.isBehind) scripted.session.readOn();
    expect(flood(scripted, i => [settings([4, i + 1])])).toEqual([5_399, 11, 'control_frames']);
  });

  test('of acknowledgements that the client does not read', () => {
    const scripted = ScriptedClient.begun();
    const pings = Array.from({ length: 1_001 }, () => frame(TYPE.ping, 0, 0, '12345678'));
    scripted.send(...pings.slice(1));
    scripted.session.take();
    expect(() => scripted.send(...pings)).toThrow(
      expect.objectContaining({ code: 11, reason: 'control_frames' }),
    );
  });

  test('of CONTINUATION', () => {
    const scripted = ScriptedClient.begun();
    scripted.send(frame(TYPE.headers, 1, 1));
    expect(flood(scripted, () => [frame(TYPE.continuation, 0, 1)])).toEqual([8, 11, 'continuations']);
  });
});

describe('a client may go on', () => {
  test('with streams past a maximum that it could not know yet, and what it sent on them', () => {
    const scripted = ScriptedClient.begun([], { maxStreams: 1 });
    const ids = Array.from({ length: 1_000 }, (_, i) => 2 * i + 3);
    scripted.send(get(1), ...ids.map(post));
    while (scripted.session.isBehind) scripted.session.readOn();
    expect(scripted.frames()).toEqual(ids.map(id => `reset ${id} 00000007`));
    scripted.send(...ids.map(id => frame(TYPE.data, FLAG.endStream, id, 'late')));
    scripted.request(1).stream.respond(200, [], true);
    scripted.send(frame(TYPE.settings, FLAG.ack, 0), get(2_003));
    expect(scripted.requests.map(({ stream }) => stream.id)).toEqual([1, 2_003]);
  });

  test('with resets that come slowly enough', () => {
    const scripted = ScriptedClient.begun();
    let [nowMs, id] = [0, 1];
    for (let i = 0; i < 100; i++, nowMs += 500) {
      scripted.session.sweep(nowMs);
      for (let j = 0; j < 25; j++, id += 2) scripted.send(get(id), reset(id));
    }
    expect(scripted.requests).toHaveLength(2_500);
  });

  test('with resets that come twice as fast for no longer than a burst lasts, however often the counts sink', () => {
    const scripted = ScriptedClient.begun();
    let [nowMs, id] = [0, 1];
    const resetMore = () => {
      for (let i = 0; i < 100; i++, nowMs += 100) {
        scripted.session.sweep(nowMs);
        for (let j = 0; j < 10; j++, id += 2) scripted.send(get(id), reset(id));
      }
    };
    expect(resetMore).toThrow(expect.objectContaining({ code: 11, reason: 'resets' }));
    expect(nowMs).toBeGreaterThan(9_000);
  });

  test('with requests that are answered before their end', () => {
    const scripted = ScriptedClient.begun();
    scripted.onRequest = ({ stream }) => {
      stream.respond(413, [], true);
      stream.dropRest();
    };
    expect(flood(scripted, i => [post(2 * i + 1)], 3_000)).toBe(3_000);
  });

  test('with resets of streams that have ended', () => {
    const scripted = ScriptedClient.begun();
    scripted.onRequest = ({ stream }) => stream.respond(200, [], true);
    expect(flood(scripted, i => [get(2 * i + 1), reset(2 * i + 1)], 3_000)).toBe(3_000);
  });

  test.each([
    ['that it did not provoke, without end', false, 3_000],
    ['that it provoked, up to the burst', true, [500, 11, 'resets']],
  ])('with responses that break off %s', (_, isProvoked, expected) => {
    const scripted = ScriptedClient.begun();
    scripted.onRequest = ({ stream }) => {
      stream.respond(200, [], false);
      stream.breakOff(isProvoked);
    };
    expect(flood(scripted, i => [get(2 * i + 1)], 3_000)).toEqual(expected);
  });

  test('with a window of one byte, which it opens for each byte that it gets, and no further', () => {
    const scripted = ScriptedClient.begun([[4, 1]]);
    scripted.send(get(1));
    const { stream } = scripted.request(1);
    stream.respond(200, [], false);
    stream.write(Buffer.alloc(30_001));
    expect(flood(scripted, () => [windowUpdate(0, 1), windowUpdate(1, 1)], 30_000)).toBe(30_000);
    expect(stream.unsent).toBe(0);
    expect(flood(scripted, () => [windowUpdate(1, 1)])).toEqual([10_000, 11, 'control_frames']);
  });

  test('with frames that its streams have explained, also when they come seconds later', () => {
    const scripted = ScriptedClient.begun();
    scripted.onRequest = ({ stream }) => stream.respond(200, [], true);
    scripted.session.sweep(0);
    expect(flood(scripted, i => [get(2 * i + 1)], 2_000)).toBe(2_000);
    scripted.session.sweep(5_000);
    expect(flood(scripted, () => [windowUpdate(0, 1)])).toEqual([10_000, 11, 'control_frames']);
  });

  test('with four frames for each stream that it opens, and for each DATA that it gets', () => {
    const scripted = ScriptedClient.begun();
    const acknowledged = [windowUpdate(0, 1), windowUpdate(1, 1), windowUpdate(1, 1), windowUpdate(0, 1)];
    scripted.send(get(1));
    const { stream } = scripted.request(1);
    stream.respond(200, [], false);
    const answering = () => {
      stream.write(Buffer.alloc(2));
      return acknowledged;
    };
    expect(flood(scripted, answering, 5_000)).toBe(5_000);
    scripted.onRequest = request => request.stream.respond(200, [], true);
    const opening = (i: number) => [get(2 * i + 3), ...acknowledged];
    expect(flood(scripted, opening, 5_000)).toBe(5_000);
  });
});
