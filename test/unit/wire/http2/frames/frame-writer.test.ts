import { expect, test } from 'vitest';
import { FrameReader } from '../../../../../src/wire/http2/frames/frame-reader.ts';
import { FrameWriter } from '../../../../../src/wire/http2/frames/frame-writer.ts';
import { frame, TYPE } from '../../../../support/http2-frames.ts';
import { RecordingFrames } from '../../../../support/recording-frames.ts';

function writing() {
  let woken = 0;
  const writer = new FrameWriter(() => woken++);
  return { writer, woken: () => woken };
}

/** The frames that a reader finds in what was written. */
function framesOf(write: (writer: FrameWriter) => void): readonly string[] {
  const { writer } = writing();
  writer.settings([]);
  write(writer);
  const sink = new RecordingFrames();
  const bytes = writer.take();
  new FrameReader(sink).read(bytes, 0, bytes.length);
  return sink.all.slice(1);
}

test('frames are written as they are read', () => {
  const events = framesOf(writer => {
    writer.settings([[4, 131_072]]);
    writer.acknowledgeSettings();
    writer.headers(1, Buffer.from('block'), false);
    writer.headers(0x7fffffff, Buffer.from('block'), true);
    writer.data(1, Buffer.from('hello'));
    writer.reset(1, 8);
    writer.ping(Buffer.from('12345678'), 0);
    writer.windowUpdate(0, 0x7fffffff);
    writer.goaway(0, 2);
  });
  expect(events).toEqual([
    ...['settings 000400020000', 'settings ack', 'headers 1 block', 'headers 2147483647 block end'],
    ...['data 1 "hello" 5', 'reset 1 8', 'ping 12345678', 'window 0 2147483647', 'goaway 0 2'],
  ]);
});

test.each([16_384, 32_768, 40_000])('a header block of %i bytes goes on in CONTINUATION', bytes => {
  const block = Buffer.alloc(bytes, 'b');
  expect(framesOf(writer => writer.headers(1, block, true))).toEqual([`headers 1 ${block} end`]);
});

test('pieces that follow each other on a stream share a DATA frame as long as it has room', () => {
  const { writer } = writing();
  const written = (...pieces: [number, string][]) => {
    for (const [stream, text] of pieces) writer.data(stream, Buffer.from(text));
    return writer.take().toString('latin1');
  };
  const frames = (...pieces: [number, string][]) =>
    pieces.map(([stream, text]) => frame(TYPE.data, 0, stream, text).toString('latin1')).join('');
  expect(written([1, 'a'], [1, 'b'], [1, 'c'])).toBe(frames([1, 'abc']));
  expect(written([1, 'a'], [3, 'b'], [1, 'c'])).toBe(frames([1, 'a'], [3, 'b'], [1, 'c']));
  const large = 'x'.repeat(16_383);
  expect(written([1, large], [1, 'y'], [1, 'z'])).toBe(frames([1, `${large}y`], [1, 'z']));
});

test('pieces are parts of larger buffers, and never join across another frame', () => {
  const events = framesOf(writer => {
    writer.data(1, Buffer.from('hello'), 1, 3);
    writer.data(1, Buffer.from('there'), 2, 5);
    writer.windowUpdate(0, 1);
    writer.data(1, Buffer.from('young'), 3, 5);
    writer.windowUpdate(0, 2);
  });
  expect(events).toEqual(['data 1 "elere" 5', 'window 0 1', 'data 1 "ng" 2', 'window 0 2']);
});

test('a stream is ended by its last DATA frame where that has not left', () => {
  const events = framesOf(writer => {
    writer.data(1, Buffer.from('a'));
    writer.windowUpdate(0, 1);
    writer.endData(1);
  });
  expect(events).toEqual(['data 1 "a" 1 end', 'window 0 1']);
});

test('a stream is ended by an empty frame behind the DATA of another, or what has left', () => {
  const events = framesOf(writer => {
    writer.data(1, Buffer.from('a'));
    writer.data(3, Buffer.from('b'));
    writer.endData(1);
  });
  expect(events).toEqual(['data 1 "a" 1', 'data 3 "b" 1', 'data 1 "" 0 end']);
  const { writer } = writing();
  writer.data(1, Buffer.from('a'));
  writer.take();
  writer.endData(1);
  expect(writer.take().toString('hex')).toBe('000000000100000001');
});

test('the first frame of each turn wakes the one who writes', () => {
  const { writer, woken } = writing();
  writer.acknowledgeSettings();
  writer.reset(1, 8);
  expect(woken()).toBe(1);
  expect(writer.take()).toHaveLength(22);
  expect(writer.take()).toHaveLength(0);
  writer.reset(3, 8);
  expect(woken()).toBe(2);
});

test('what was taken and lent is not written over, until it is given back', () => {
  const { writer } = writing();
  writer.data(1, Buffer.from('first'));
  const first = writer.take();
  writer.lend();
  writer.data(1, Buffer.from('other'));
  expect([first.subarray(9).toString(), writer.take().subarray(9).toString()]).toEqual(['first', 'other']);
  writer.giveBack();
  writer.data(1, Buffer.from('third'));
  expect([first.subarray(9).toString(), writer.take().subarray(9).toString()]).toEqual(['third', 'third']);
});

test('what was written stays while a buffer is given back, and while its memory is freed at rest', () => {
  const { writer } = writing();
  writer.data(1, Buffer.from('first'));
  const before = writer.take().buffer;
  writer.lend();
  writer.data(1, Buffer.from('other'));
  writer.giveBack();
  for (let i = 0; i < 2; i++) writer.rest();
  const other = writer.take();
  expect(other.subarray(9).toString()).toBe('other');
  // It keeps its buffer as long as it has written since it last rested.
  writer.rest();
  writer.data(1, Buffer.from('third'));
  const third = writer.take();
  expect([third.buffer === other.buffer, other.buffer === before]).toEqual([true, false]);
  for (let i = 0; i < 2; i++) writer.rest();
  writer.data(1, Buffer.from('fourth'));
  expect(writer.take().buffer === third.buffer).toBe(false);
});

test('the memory of a burst is not kept', () => {
  const { writer } = writing();
  for (let i = 0; i < 100; i++) writer.data(1, Buffer.alloc(16_384));
  const burst = writer.take();
  writer.data(1, Buffer.alloc(1));
  expect(burst.buffer === writer.take().buffer).toBe(false);
});
