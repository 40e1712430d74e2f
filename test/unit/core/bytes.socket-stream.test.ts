import { once } from 'node:events';
import { expect, test } from 'vitest';
import { type ByteSink, SocketStream } from '../../../src/core/bytes.ts';
import { MemorySocket } from '../../support/memory-socket.ts';
import { FrozenClock } from '../limits/frozen-clock.ts';

/** A stream over a socket in memory, and what its sink hears. */
function open(early = '', socket = new MemorySocket()) {
  const heard: string[] = [];
  const clock = new FrozenClock();
  const stream = new SocketStream(socket.asSocket, Buffer.from(early), clock);
  const sink: ByteSink = {
    bytes: piece => void heard.push(`${piece}`),
    drained: () => void heard.push('(drained)'),
    ended: () => void heard.push('(ended)'),
    closed: () => void heard.push('(closed)'),
  };
  return { socket, stream, sink, heard, clock };
}

/** Lets everything happen that waits for nothing. */
const settled = () => new Promise(resolve => setImmediate(resolve));

test('what was read before the switch comes first, and nothing comes before the start', async () => {
  const flowing = new MemorySocket();
  flowing.resume();
  const { socket, stream, sink, heard } = open('early ', flowing);
  socket.bring(Buffer.from('late'));
  await settled();
  expect(heard).toEqual([]);
  stream.start(sink);
  await settled();
  expect(heard).toEqual(['early ', 'late']);
});

test('a sink that pauses at what was read before gets nothing more until it resumes', async () => {
  const { socket, stream, sink, heard } = open('early');
  const bytes = sink.bytes;
  sink.bytes = piece => {
    bytes(piece);
    stream.pause();
  };
  stream.start(sink);
  socket.bring(Buffer.from('late'));
  await settled();
  expect(heard).toEqual(['early']);
  stream.resume();
  await settled();
  expect(heard).toEqual(['early', 'late']);
});

test('a write that is taken at once needs no drained', async () => {
  const { socket, stream, sink, heard } = open();
  stream.start(sink);
  expect(stream.write(Buffer.from('a'))).toBe(true);
  await settled();
  expect(socket.written).toBe('a');
  expect(heard).toEqual([]);
});

test('a write that is not taken at once, however short, is followed by drained once it is', async () => {
  const { socket, stream, sink, heard } = open();
  stream.start(sink);
  socket.hold();
  expect(stream.write(Buffer.from('a'))).toBe(false);
  await settled();
  expect(heard).toEqual([]);
  socket.release();
  await settled();
  expect(heard).toEqual(['(drained)']);
});

test('a socket that breaks with bytes not taken says drained before closed, and its error is no exception', async () => {
  const { socket, stream, sink, heard } = open();
  stream.start(sink);
  socket.hold();
  stream.write(Buffer.from('a'));
  socket.destroy(new Error('reset'));
  await settled();
  expect(heard).toEqual(['(drained)', '(closed)']);
});

test('an end that comes leaves our direction open until our own end', async () => {
  const { socket, stream, sink, heard } = open();
  stream.start(sink);
  socket.push(null);
  await settled();
  expect(heard).toEqual(['(ended)']);
  expect(stream.write(Buffer.from('a'))).toBe(true);
  stream.end();
  await settled();
  expect(socket.written).toBe('a');
  expect(heard).toEqual(['(ended)', '(closed)']);
});

test('what is written after our own end is dropped, and the other direction stays open', async () => {
  const { socket, stream, sink, heard } = open();
  stream.start(sink);
  stream.end();
  expect(stream.write(Buffer.from('a'))).toBe(true);
  socket.bring(Buffer.from('b'));
  await settled();
  expect(socket.written).toBe('');
  expect(heard).toEqual(['b']);
});

test('an end that came before the start is heard after it', async () => {
  const socket = new MemorySocket();
  socket.push(null);
  socket.resume();
  await once(socket, 'end');
  const { stream, sink, heard } = open('', socket);
  stream.start(sink);
  await settled();
  expect(heard).toEqual(['(ended)']);
});

test.each([
  ['whose close is still to come', (_: MemorySocket) => {}],
  ['whose close has passed', (socket: MemorySocket) => once(socket, 'close')],
])('a socket that is gone at the start, and %s, is closed once', async (_, until) => {
  const { socket, stream, sink, heard } = open();
  socket.destroy();
  await until(socket);
  stream.start(sink);
  await settled();
  expect(heard).toEqual(['(closed)']);
});

test('endSoon closes behind what was written', async () => {
  const { socket, stream, sink, heard } = open();
  stream.start(sink);
  socket.hold();
  stream.write(Buffer.from('a'));
  stream.endSoon();
  await settled();
  expect(socket.destroyed).toBe(false);
  socket.release();
  await settled();
  expect(socket.destroyed).toBe(true);
  expect(heard).toEqual(['(drained)', '(closed)']);
});

test('endSoon closes after some seconds where nothing is taken, and leaves no timer where all is', async () => {
  const { socket, stream, sink, clock } = open();
  stream.start(sink);
  socket.hold();
  stream.write(Buffer.from('a'));
  stream.endSoon();
  clock.advance(4_999);
  expect(socket.destroyed).toBe(false);
  clock.advance(1);
  expect(socket.destroyed).toBe(true);
  await settled();
  const other = open();
  other.stream.endSoon();
  await settled();
  expect(other.clock.isWaiting).toBe(false);
});
