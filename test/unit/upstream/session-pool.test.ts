import { afterEach, expect, test } from 'vitest';
import { thisMachine } from '../../../src/core/index.ts';
import type { UpstreamOptions } from '../../../src/upstream/index.ts';
import { SessionPool } from '../../../src/upstream/session-pool.ts';
import type { CollectingSink } from '../../support/collecting-sink.ts';
import { type FrameSocket, frameSockets } from '../../support/frame-socket.ts';
import { send } from '../../support/transport-calls.ts';
import { upstreamAt } from '../../support/upstream-options.ts';
import { FrozenClock } from '../limits/frozen-clock.ts';

const HTTP2 = { maxConnections: 3, maxStreams: 2, pingIntervalMs: 300_000, pingTimeoutMs: 10_000 };
const turn = () => new Promise(setImmediate);
const pools: SessionPool[] = [];

afterEach(async () => {
  await Promise.all(pools.splice(0).map(pool => pool.close()));
});

function poolOf(http2: Partial<UpstreamOptions['http2']> = {}, clock = new FrozenClock()) {
  const { sockets, connect } = frameSockets();
  const options = upstreamAt(81, { protocol: 'h2', http2: { ...HTTP2, ...http2 } });
  const pool = new SessionPool(options, { ...thisMachine, clock, random: () => 0 }, connect);
  pools.push(pool);
  const ask = (target: string) => send(pool, { target });
  /** The requests that each connection has been given. */
  const requests = async () => {
    await turn();
    return sockets.map(socket => socket.sent().filter(frame => frame.startsWith('headers')));
  };
  return { pool, sockets, ask, requests, clock };
}

test('connects with the first call, which waits for the SETTINGS', async () => {
  const { pool, sockets, ask, requests } = poolOf();
  expect(sockets).toHaveLength(0);
  const { sink } = ask('/a');
  sockets[0]?.emit('connect');
  expect([await requests(), pool.connections]).toEqual([[[]], 0]);
  sockets[0]?.open();
  expect([await requests(), pool.connections]).toEqual([[['headers 1 /a']], 1]);
  sockets[0]?.answer(1);
  expect(sink.events).toEqual(['whole 200']);
});

test('the pool opens another connection where all have as many calls as configured, up to a bound', async () => {
  const { sockets, ask, requests } = poolOf();
  const calls = ['/a', '/b', '/c'].map(ask);
  for (const socket of sockets) socket.open();
  await turn();
  for (const socket of sockets) socket.open();
  for (let i = 0; i < 10; i++) {
    calls.push(ask(`/${i}`));
    for (const socket of sockets) if (socket.sent().length === 0) socket.open();
  }
  expect(sockets).toHaveLength(3);
  await requests();
  for (const { call } of calls) call.abort();
});

test('the pool gives a call to the connection with the fewest', async () => {
  const { sockets, ask, requests } = poolOf({ maxStreams: 1 });
  const calls = [ask('/a'), ask('/b')];
  for (const socket of sockets) socket.open();
  expect(await requests()).toEqual([['headers 1 /a', 'headers 3 /b'], []]);
  calls.push(ask('/c'));
  expect((await requests()).slice(0, 2)).toEqual([[], ['headers 1 /c']]);
  for (const { call } of calls) call.abort();
});

test('the pool lets calls wait in their order where the upstream allows no more', async () => {
  const { sockets, ask, requests } = poolOf({ maxConnections: 1 });
  const calls = ['/a', '/b', '/c', '/d'].map(ask);
  sockets[0]?.open([3, 1]);
  expect(await requests()).toEqual([['headers 1 /a']]);
  calls[1]?.call.abort();
  sockets[0]?.answer(1);
  expect(await requests()).toEqual([['headers 3 /c']]);
  sockets[0]?.answer(3);
  expect(await requests()).toEqual([['headers 5 /d']]);
  sockets[0]?.answer(5);
});

test('the pool uses the place of a call that is given up in a later write than its reset', async () => {
  const { sockets, ask } = poolOf({ maxConnections: 1 });
  const [one, two] = [ask('/a'), ask('/b')];
  sockets[0]?.open([3, 1]);
  await turn();
  sockets[0]?.sent();
  one.call.abort();
  await turn();
  expect(sockets[0]?.sent()).toEqual(['rstStream 1']);
  await turn();
  expect(sockets[0]?.sent()).toEqual(['headers 3 /b']);
  two.call.abort();
});

test('fails the calls that wait when no connection can be made', async () => {
  const { sockets, ask } = poolOf({ maxConnections: 1 });
  const calls = [ask('/a'), ask('/b')];
  sockets[0]?.emit('error', new Error('refused'));
  await turn();
  for (const { sink } of calls)
    expect(sink.failure).toMatchObject({ kind: 'connect', cause: { message: 'refused' } });
});

test('says of calls that wait that the connect timed out, even where a process that was held up finds both late at once', async () => {
  const clock = new FrozenClock();
  const { ask } = poolOf({}, clock);
  const { sink, call } = ask('/a');
  clock.advance(250);
  clock.stall(100_000);
  await turn();
  call.abort();
  expect(sink.failure).toMatchObject({ kind: 'connect', cause: { message: 'the connect timed out' } });
});

test.each<[string, (socket: FrameSocket) => void]>([
  ['lost', socket => socket.emit('error', new Error('gone'))],
  ['given a GOAWAY', socket => socket.goaway(0, 0)],
])('fails the calls that wait when a connection is %s before it could take one', async (_, end) => {
  const { sockets, ask } = poolOf();
  const calls = ['/a', '/b', '/c'].map(ask);
  for (const socket of [...sockets]) socket.open([3, 0]);
  for (const socket of [...sockets]) end(socket);
  await turn();
  expect(calls.map(({ sink }) => sink.events)).toEqual([
    ['fail connect'],
    ['fail connect'],
    ['fail connect'],
  ]);
  expect(sockets).toHaveLength(2);
});

test('the pool opens another in the place of a connection that cannot be made no sooner than at the next sweep', async () => {
  const { sockets, ask, requests, clock } = poolOf();
  const calls = ['/a', '/b', '/c'].map(ask);
  sockets[0]?.emit('error', new Error('refused'));
  await turn();
  expect(sockets).toHaveLength(2);
  clock.advance(250);
  expect(sockets).toHaveLength(3);
  sockets[2]?.open();
  expect((await requests())[2]).toHaveLength(3);
  sockets[1]?.open();
  for (const { call } of calls) call.abort();
});

test('connects anew for calls that wait when a connection is lost', async () => {
  const { sockets, ask, requests } = poolOf({ maxConnections: 1 });
  const [one, two] = [ask('/a'), ask('/b')];
  sockets[0]?.open([3, 1]);
  await turn();
  sockets[0]?.emit('end');
  expect(one.sink.failure).toMatchObject({ kind: 'reset' });
  await turn();
  sockets[1]?.open();
  expect((await requests())[1]).toEqual(['headers 1 /b']);
  two.call.abort();
});

test('the pool closes when the last call is over, and carries one that comes late', async () => {
  const { pool, sockets, ask, requests } = poolOf();
  const one = ask('/a');
  sockets[0]?.open();
  const closed = pool.close();
  const late = ask('/late');
  expect(await requests()).toEqual([['headers 1 /a', 'headers 3 /late']]);
  sockets[0]?.answer(1);
  sockets[0]?.answer(3);
  await closed;
  expect([one.sink.events, late.sink.events, pool.connections]).toEqual([['whole 200'], ['whole 200'], 0]);
});

test('the pool gives nothing more to a connection at its GOAWAY: neither a call that is repeated nor one that waits', async () => {
  const { sockets, ask, requests } = poolOf({ maxConnections: 1 });
  const calls = ['/a', '/b', '/waits'].map(ask);
  sockets[0]?.open([3, 2]);
  expect(await requests()).toEqual([['headers 1 /a', 'headers 3 /b']]);
  const refused = calls[1]?.sink as CollectingSink;
  refused.fail = () => calls.push(ask('/b'));
  sockets[0]?.goaway(1, 0);
  sockets[1]?.open();
  expect(await requests()).toEqual([[], ['headers 1 /waits', 'headers 3 /b']]);
  for (const { call } of calls) call.abort();
});
