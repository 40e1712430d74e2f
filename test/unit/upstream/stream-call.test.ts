import { describe, expect, test } from 'vitest';
import { StreamCall } from '../../../src/upstream/stream-call.ts';
import type { OutgoingRequest } from '../../../src/wire/http1/index.ts';
import { CollectingSink } from '../../support/collecting-sink.ts';
import { GET } from '../../support/get-request.ts';
import { HandBody } from '../../support/hand-body.ts';
import { frame, headers, TYPE, uint32 } from '../../support/http2-frames.ts';
import { ScriptedSession } from '../../support/scripted-session.ts';
import { upstreamAt } from '../../support/upstream-options.ts';

const head = headers(1, [[':status', '200']], 4);
const data = (bytes: string, flags = 0) => frame(TYPE.data, flags, 1, bytes);
const reset = (code: number) => frame(TYPE.rstStream, 0, 1, uint32(code));

/** A call on a stream whose upstream a test plays. */
function begin(changes: Partial<OutgoingRequest> = {}) {
  const sink = new CollectingSink();
  const told: string[] = [];
  const fate = { broken: null, closedWhileIdle: false };
  const session = {
    ...fate,
    writes: 0,
    released: () => told.push('released'),
    suspect: () => told.push('suspect'),
  };
  const request = { ...GET, firstByteTimeoutMs: 1_000, idleTimeoutMs: 500, ...changes };
  const queue = { released: () => told.push('left the queue') };
  const call = new StreamCall(request, sink, queue, upstreamAt(81, { protocol: 'h2' }));
  const scripted = ScriptedSession.begun();
  const carry = () => {
    call.begin(scripted.session.request([], call, request.body === null), session);
    session.writes++;
  };
  const sweep = (...times: number[]) => {
    for (const now of times) call.sweep(now, 300, session);
  };
  return { sink, told, call, scripted, carry, sweep };
}

function carried(changes: Partial<OutgoingRequest> = {}) {
  const all = begin(changes);
  all.carry();
  all.scripted.frames();
  return all;
}

describe('a call', () => {
  test('is released with its response', () => {
    const { sink, told, scripted } = carried();
    scripted.send(head, data('hello', 1));
    expect([sink.events, sink.body, told]).toEqual([['head 200 null', 'end'], 'hello', ['released']]);
    expect(scripted.frames()).toEqual([]);
  });

  test('that is given up resets its stream, and is released in a later turn', async () => {
    const { sink, told, call, scripted } = carried();
    call.abort();
    call.abort();
    expect([scripted.frames(), told]).toEqual([['reset 1 00000008'], []]);
    await new Promise(setImmediate);
    scripted.send(head, data('hello', 1));
    expect([sink.events, told]).toEqual([[], ['released']]);
  });

  test('that waits for a stream leaves the queue when it is given up, or waited too long', () => {
    const one = begin();
    one.call.abort();
    expect([one.told, one.sink.events]).toEqual([['left the queue'], []]);
    const two = begin();
    two.sweep(0, 300);
    expect(two.sink.events).toEqual([]);
    two.sweep(301);
    expect([two.told, two.sink.events]).toEqual([['left the queue'], ['fail connect']]);
  });

  test('lets its response wait while the sink has enough', () => {
    const { sink, call, scripted } = carried();
    sink.wantsMore = false;
    scripted.send(head, data('one'));
    scripted.send(data('two', 1));
    expect(sink.body).toBe('one');
    sink.wantsMore = true;
    call.resume();
    expect([sink.body, sink.events]).toEqual(['onetwo', ['head 200 null', 'end']]);
  });

  test('is malformed by what is no response, and says so to the upstream', () => {
    const { sink, scripted } = carried();
    scripted.send(headers(1, [['a', 'b']], 4));
    expect(sink.failure).toMatchObject({ kind: 'malformed', responseBegun: true });
    expect(scripted.frames()).toEqual(['reset 1 00000001']);
  });

  test('is truncated by a reset behind its head, whatever the code', () => {
    const { sink, scripted } = carried();
    scripted.send(head, data('one'), reset(7));
    expect(sink).toMatchObject({ body: 'one', events: ['head 200 null', 'fail truncated'] });
  });

  test('is not refused any more when an interim response has come', () => {
    const { sink, scripted } = carried();
    scripted.send(headers(1, [[':status', '103']], 4), reset(7));
    expect(sink.failure).toMatchObject({ kind: 'reset', responseBegun: true });
  });
});

describe('the time of a call', () => {
  test('runs out without a response', () => {
    const { sink, told, sweep } = carried();
    sweep(0, 1_000);
    expect(sink.events).toEqual([]);
    sweep(1_001);
    expect([sink.events, told[0]]).toEqual([['fail timeout'], 'suspect']);
  });

  test('begins again with every interim response', () => {
    const { sink, scripted, sweep } = carried();
    sweep(0, 900);
    scripted.send(headers(1, [[':status', '103']], 4));
    sweep(1_100, 2_100);
    expect(sink.events).toEqual(['info 103']);
    for (let ms = 2_200; ms < 6_200; ms += 100) {
      scripted.send(headers(1, [[':status', '102']], 4));
      sweep(ms);
    }
    expect(sink.events).toHaveLength(41);
    expect(sink.failure).toBeNull();
  });

  test('runs out inside a response', () => {
    const { sink, scripted, sweep } = carried();
    scripted.send(head);
    sweep(0, 400);
    scripted.send(data('a'));
    sweep(600, 1_100);
    expect(sink.events).toEqual(['head 200 null']);
    sweep(1_101);
    expect(sink.events).toEqual(['head 200 null', 'fail truncated']);
  });

  test('stands still while the sink has enough, or the client sends', () => {
    const { sink, scripted, sweep } = carried();
    sink.wantsMore = false;
    scripted.send(head, data('a'));
    sweep(0, 10_000);
    const body = new HandBody();
    const sending = carried({ method: 'POST', body, bodyLength: 'chunked' });
    sending.sweep(0, 10_000);
    expect([sink.failure, sending.sink.failure]).toEqual([null, null]);
  });

  test('runs while the upstream does not take the request', () => {
    const body = new HandBody();
    const { sink, sweep } = carried({ method: 'POST', body, bodyLength: 'chunked' });
    body.sink?.chunk(Buffer.alloc(70_000));
    sweep(0, 1_000, 2_001);
    expect(sink.events).toEqual(['fail timeout']);
  });
});

test('a body that breaks off resets its stream', () => {
  const body = new HandBody();
  const { sink, scripted } = carried({ method: 'POST', body, bodyLength: 5 });
  body.sink?.chunk(Buffer.from('abc'));
  body.sink?.fail();
  expect([sink.events, scripted.frames()]).toEqual([['fail reset'], ['data 1 3', 'reset 1 00000008']]);
});
