import { expect, test } from 'vitest';
import type { UpstreamOptions } from '../../../src/upstream/index.ts';
import { SlabStore } from '../../../src/upstream/pool.ts';
import { UpstreamSession } from '../../../src/upstream/session.ts';
import { StreamCall } from '../../../src/upstream/stream-call.ts';
import { CollectingSink } from '../../support/collecting-sink.ts';
import { frameSockets } from '../../support/frame-socket.ts';
import { GET } from '../../support/get-request.ts';
import { HandBody } from '../../support/hand-body.ts';
import { frame, headers, settings, TYPE } from '../../support/http2-frames.ts';
import { upstreamAt } from '../../support/upstream-options.ts';

const turn = () => new Promise(setImmediate);

/** A session, its socket, and what its pool was told. */
function begin(changes: Partial<UpstreamOptions> = {}) {
  const { sockets, connect } = frameSockets();
  const clock = { nowMs: 1_000, epochMs: () => 0, monotonicMs: () => clock.nowMs };
  const options = upstreamAt(81, { protocol: 'h2', ...changes });
  const told: string[] = [];
  const slabs = new SlabStore();
  const share = {
    ...{ options, clock, connect, slabs },
    vacant: () => told.push('vacant'),
    retired: () => told.push('retired'),
    gone: (_session: UpstreamSession, cause: Error | null) => told.push(`gone: ${cause?.message}`),
  };
  const session = new UpstreamSession(share, 0);
  const [socket] = sockets;
  if (socket === undefined) throw new Error('no socket');
  const carry = (target = '/') => {
    const sink = new CollectingSink();
    const call = new StreamCall({ ...GET, target }, sink, { released: () => {} }, options);
    session.carry(call);
    return { sink, call };
  };
  const sweep = (afterMs: number) => {
    clock.nowMs += afterMs;
    session.sweep(clock.nowMs);
  };
  return { session, socket, told, carry, sweep, slabs };
}

/** The same, when it is open. */
function open(changes: Partial<UpstreamOptions> = {}) {
  const all = begin(changes);
  all.socket.open([3, 2]);
  all.sweep(0);
  all.told.length = 0;
  return all;
}

test('a session takes calls when the SETTINGS of its upstream have come, as many as they allow', () => {
  const { session, socket, told, carry } = begin();
  expect([session.connecting, session.accepts, session.hasRoom, session.open]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  socket.emit('connect');
  expect([socket.sent(), session.open]).toEqual([['settings', 'windowUpdate'], false]);
  socket.open([3, 2]);
  expect([session.open, session.hasRoom, told]).toEqual([true, true, ['vacant']]);
  carry();
  expect([session.hasRoom, session.calls]).toEqual([true, 1]);
  carry();
  expect([session.hasRoom, session.calls]).toEqual([false, 2]);
});

test('a header section that the upstream does not take is never sent, and costs no stream', () => {
  const { session, socket, carry } = open();
  const bytes = 4 * 32 + ':method:scheme:authority:path'.length + 'GEThttpa.test'.length + '/'.length;
  socket.bring(settings([6, bytes]));
  socket.sent();
  const { sink } = carry('/a');
  expect([sink.events, session.calls]).toEqual([['fail oversized'], 0]);
  carry('/');
  expect(session.calls).toBe(1);
});

test('all requests of a turn leave in one write, behind those of other sockets', async () => {
  const { socket, carry } = open();
  socket.sent();
  carry('/one');
  carry('/two');
  expect(socket.sent()).toEqual([]);
  await turn();
  expect(socket.sent()).toEqual(['settings ack', 'headers 1 /one', 'headers 3 /two']);
});

test('a response ends its call, and makes room', () => {
  const { session, socket, told, carry } = open();
  const { sink } = carry();
  socket.answer(1);
  expect([sink.events, session.calls, told]).toEqual([['whole 200'], 0, ['vacant']]);
});

test('a connection that is not made in time is given up', async () => {
  const { socket, told, sweep } = begin({ connectTimeoutMs: 300 });
  sweep(0);
  sweep(300);
  expect(socket.destroyed).toBe(false);
  sweep(1);
  await turn();
  expect([socket.destroyed, told]).toEqual([true, ['gone: the connect timed out']]);
});

test('a connection that fails before its SETTINGS names its cause', async () => {
  const { socket, told } = begin();
  socket.emit('error', new Error('refused'));
  await turn();
  expect(told).toEqual(['gone: refused']);
});

test('a session retires when it was idle for long, but not with a call', async () => {
  const { session, socket, told, carry, sweep } = open({ keepAliveMs: 1_000 });
  carry();
  sweep(2_000);
  expect(session.hasRoom).toBe(true);
  socket.answer(1);
  sweep(0);
  sweep(999);
  expect(session.accepts).toBe(true);
  sweep(1);
  await turn();
  expect([socket.sent().at(-1), socket.destroyed, told.slice(-2)]).toEqual([
    'goaway',
    true,
    ['retired', 'gone: undefined'],
  ]);
});

test('a session retires at its age, behind the last of its calls', () => {
  const { session, socket, carry, sweep } = open({ maxAgeMs: 1_000 });
  const { sink } = carry();
  sweep(1_001);
  expect([session.accepts, session.open, socket.destroyed]).toEqual([false, true, false]);
  socket.answer(1);
  expect([sink.events, socket.destroyed]).toEqual([['whole 200'], true]);
});

test.each([
  ['without', 0],
  ['with', 2],
])(
  'a session retires at a GOAWAY %s an error, and fails only the calls that the upstream has not looked at',
  (_, code) => {
    const { session, socket, told, carry } = open();
    const calls = [carry(), carry()];
    socket.goaway(1, code);
    expect([session.accepts, socket.destroyed, told.includes('retired')]).toEqual([false, false, true]);
    expect(calls.map(({ sink }) => sink.failure?.kind)).toEqual([undefined, 'refused']);
    socket.answer(1);
    expect([calls[0]?.sink.events, socket.destroyed]).toEqual([['whole 200'], true]);
  },
);

test('an upstream that closes behind a GOAWAY with an error fails what it left open, which is not safe to repeat', async () => {
  const { socket, carry } = open();
  carry();
  socket.answer(1);
  const { sink } = carry();
  await turn();
  socket.goaway(3, 11);
  expect(sink.failure).toBeNull();
  socket.emit('end');
  const cause = { message: 'the upstream closes the connection with ENHANCE_YOUR_CALM' };
  expect(sink.failure).toMatchObject({ kind: 'reset', onReusedConnection: false, cause });
});

test('an upstream that says nothing behind its GOAWAY loses the call to its timeout, and then the connection', async () => {
  const { socket, carry, sweep } = open();
  const { sink } = carry();
  sweep(0);
  socket.goaway(1, 2);
  sweep(10_000);
  expect(sink.failure).toBeNull();
  sweep(1);
  await turn();
  expect([sink.failure?.kind, socket.destroyed]).toEqual(['timeout', true]);
});

test('a connection that ends by a GOAWAY with an error before it carried a call names the code', async () => {
  const { socket, told } = open();
  socket.goaway(0, 11);
  await turn();
  expect(told).toEqual(['gone: the upstream closes the connection with ENHANCE_YOUR_CALM']);
});

test('an upstream that breaks a rule is told, loses the connection, and the calls fail', async () => {
  const { session, socket, told, carry } = open();
  const { sink } = carry();
  socket.bring(frame(TYPE.ping, 0, 1, '12345678'));
  expect(sink.failure).toMatchObject({ kind: 'malformed', cause: { code: 1 } });
  expect([session.accepts, socket.sent().at(-1), socket.destroyed]).toEqual([false, 'goaway', true]);
  await turn();
  expect(told).toEqual(['retired', 'gone: undefined']);
});

test('pieces that a client keeps lie close together, and what comes later leaves them as they are', () => {
  const { socket, carry, slabs } = open();
  const { sink } = carry();
  sink.takesAtOnce = false;
  socket.bring(headers(1, [[':status', '200']], 4));
  const letters = [...'abcdefghijklmnopqrst'];
  for (const letter of letters) socket.bring(frame(TYPE.data, 0, 1, letter.repeat(5_000)));
  expect(sink.pieces).toEqual(letters.map(letter => letter.repeat(5_000)));
  expect(new Set(sink.lent.map(({ piece }) => piece.buffer)).size).toBe(2);
  expect(slabs.size).toBe(0);
  for (const { taken } of sink.lent) taken();
  expect(slabs.size).toBe(1);
});

test('an upstream that sends and does not read loses the connection before the requests for it fill the memory', async () => {
  const { session, socket, carry, sweep } = open();
  socket.full = true;
  const { call } = carry();
  await turn();
  call.abort();
  for (let i = 0; i < 16; i++) carry(`/${i}${'x'.repeat(1_000_000)}`).call.abort();
  socket.bring(frame(TYPE.ping, 0, 0, '12345678'));
  sweep(250);
  expect(session.open).toBe(true);
  const { sink } = carry(`/${'x'.repeat(1_000_000)}`);
  sweep(250);
  expect([sink.failure, socket.destroyed]).toMatchObject([
    { kind: 'unsent', cause: { message: 'the upstream does not read' } },
    true,
  ]);
});

test('an upstream that does not take its GOAWAY loses the connection a second later', async () => {
  const { session, socket, carry, sweep } = open();
  carry();
  await turn();
  socket.full = true;
  carry();
  await turn();
  socket.bring(frame(TYPE.ping, 0, 1, '12345678'));
  sweep(0);
  sweep(1_000);
  expect(socket.destroyed).toBe(false);
  sweep(1);
  expect([socket.destroyed, session.open]).toEqual([true, false]);
});

test.each(['error', 'end'])(
  'a connection that the upstream breaks off (%s) takes no call that comes before its close',
  async event => {
    const { session, socket, carry } = open();
    carry();
    socket.answer(1);
    const { sink } = carry();
    await turn();
    // Of this one, no byte leaves.
    const { sink: unsent } = carry();
    socket.emit(event, new Error('reset'));
    expect([session.hasRoom, session.accepts]).toEqual([false, false]);
    expect(sink.failure).toMatchObject({ kind: 'reset', onReusedConnection: true });
    expect(unsent.failure).toMatchObject({ kind: 'unsent', onReusedConnection: true });
  },
);

test('a silent upstream is sent a PING, and given up without a byte', async () => {
  const http2 = { maxConnections: 1, maxStreams: 9, pingIntervalMs: 1_000, pingTimeoutMs: 500 };
  const { socket, carry, sweep } = open({ http2 });
  const { sink } = carry();
  await turn();
  sweep(0);
  sweep(1_000);
  sweep(500);
  expect(sink.failure).toBeNull();
  sweep(501);
  expect(sink.failure).toMatchObject({
    kind: 'reset',
    cause: { message: 'the upstream does not answer a PING' },
  });
  expect(socket.destroyed).toBe(true);
});

test('what a sink has of a large response is not written over by the next read', () => {
  const { socket, carry } = open();
  const { sink } = carry();
  const piece = (byte: string) => frame(TYPE.data, 0, 1, byte.repeat(5_000));
  socket.bring(headers(1, [[':status', '200']], 4), piece('a'), piece('b'));
  expect(sink.body).toBe('a'.repeat(5_000) + 'b'.repeat(5_000));
});

test('what a full socket has not taken is not written over', async () => {
  const { socket, carry } = open();
  await turn();
  socket.sent();
  socket.full = true;
  carry('/one');
  await turn();
  carry('/two');
  await turn();
  socket.drain();
  await turn();
  expect(socket.sent()).toEqual(['headers 1 /one', 'headers 3 /two']);
});

test('a body waits while the socket is full', async () => {
  const { session, socket, carry } = open();
  const body = new HandBody();
  socket.full = true;
  carry('/one');
  await turn();
  const call = new StreamCall(
    { ...GET, method: 'PUT', body, bodyLength: 'chunked' },
    new CollectingSink(),
    { released: () => {} },
    upstreamAt(81, { protocol: 'h2' }),
  );
  session.carry(call);
  body.paused = body.sink?.chunk(Buffer.alloc(10)) === false;
  expect(body.paused).toBe(true);
  socket.sent();
  socket.drain();
  expect([body.paused, socket.sent()]).toEqual([false, ['headers 3 /', 'data 3']]);
  call.abort();
});

test('while its socket is full, a session writes nothing, and then everything', async () => {
  const { socket, carry } = open();
  socket.full = true;
  carry('/one');
  await turn();
  socket.sent();
  carry('/two');
  socket.bring(frame(TYPE.ping, 0, 0, '12345678'));
  await turn();
  expect(socket.sent()).toEqual([]);
  socket.drain();
  expect(socket.sent()).toEqual(['headers 3 /two', 'ping ack']);
});

test('an upstream that sends PINGs and takes no acknowledgement loses the connection', async () => {
  const { socket, carry } = open();
  socket.full = true;
  const { sink } = carry();
  await turn();
  for (let i = 0; i < 1_001; i++) {
    socket.bring(frame(TYPE.ping, 0, 0, '12345678'));
    if (i % 100 === 0) await turn();
  }
  expect(sink.failure).toMatchObject({ kind: 'malformed', cause: { code: 11 } });
});
