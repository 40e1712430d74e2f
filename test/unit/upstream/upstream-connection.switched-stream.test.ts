import { expect, test } from 'vitest';
import { type ByteSink, systemClock } from '../../../src/core/index.ts';
import { SLAB_BYTES, SlabStore } from '../../../src/upstream/pool.ts';
import { Reads, SwitchedStream } from '../../../src/upstream/upstream-connection.ts';
import { MemorySocket } from '../../support/memory-socket.ts';

const SMALL_BYTES = 4_096;

/** A started stream, its store, and the pieces that its sink got. */
function open(early = '') {
  const socket = new MemorySocket();
  const slabs = new SlabStore();
  const reads = new Reads({ buffer: () => Buffer.alloc(0), take: () => false });
  const stream = new SwitchedStream(socket.asSocket, reads, slabs, Buffer.from(early), systemClock);
  const pieces: Buffer[] = [];
  const sink: ByteSink = {
    bytes: piece => void pieces.push(piece),
    drained: () => {},
    ended: () => {},
    closed: () => {},
  };
  stream.start(sink);
  /** The system reads so many bytes into the memory that the stream offers. */
  const read = (count: number) => {
    reads.buffer().fill(1, 0, count);
    return reads.callback(count);
  };
  return { socket, slabs, reads, stream, sink, pieces, read };
}

test('what was read before the switch comes first', () => {
  const { pieces, read } = open('early');
  read(2);
  expect(pieces).toEqual([Buffer.from('early'), Buffer.of(1, 1)]);
});

test('a read that fills little memory is followed by one into a slab, which goes back once the socket is empty', () => {
  const { slabs, reads, read } = open();
  expect(reads.buffer().length).toBe(SMALL_BYTES);
  expect(read(SMALL_BYTES - 1)).toBe(true);
  expect(reads.buffer().length).toBe(SMALL_BYTES);
  expect(read(SMALL_BYTES)).toBe(true);
  expect(reads.buffer().length).toBe(SLAB_BYTES);
  expect(read(SLAB_BYTES)).toBe(true);
  expect(reads.buffer().length).toBe(SLAB_BYTES);
  expect(slabs.size).toBe(0);
  expect(read(10)).toBe(true);
  expect(reads.buffer().length).toBe(SMALL_BYTES);
  expect(slabs.size).toBe(1);
});

test.each([
  ['little memory', []],
  ['a slab', [SMALL_BYTES]],
])('bytes in %s at which the sink pauses stay as they are, and nobody else gets that memory', (_, before) => {
  const { slabs, stream, sink, pieces, read } = open();
  for (const count of before) read(count);
  const bytes = sink.bytes;
  sink.bytes = piece => {
    bytes(piece);
    stream.pause();
  };
  expect(read(100)).toBe(false);
  const kept = pieces.at(-1);
  kept?.fill(2);
  // TLS may hand out more.
  expect(read(SMALL_BYTES)).toBe(false);
  slabs.take().bytes.fill(3);
  expect(kept).toEqual(Buffer.alloc(100, 2));
});

test('a slab goes back when the socket closes', async () => {
  const { socket, slabs, read } = open();
  read(SMALL_BYTES);
  socket.destroy();
  await new Promise(resolve => socket.on('close', resolve));
  expect(slabs.size).toBe(1);
});

test('a socket that its sink destroys takes no slab any more', () => {
  const { reads, stream, sink, read } = open();
  sink.bytes = () => stream.destroy();
  read(SMALL_BYTES);
  expect(reads.buffer().length).toBe(SMALL_BYTES);
});
