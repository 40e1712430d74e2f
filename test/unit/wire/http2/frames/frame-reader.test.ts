import { describe, expect, test } from 'vitest';
import { FrameReader } from '../../../../../src/wire/http2/frames/frame-reader.ts';
import { frame, settings, TYPE, uint32 } from '../../../../support/http2-frames.ts';
import { RecordingFrames } from '../../../../support/recording-frames.ts';

const END_STREAM = 0x1;
const END_HEADERS = 0x4;
const PADDED = 0x8;
const PRIORITY = 0x20;

/** What is read of the frames behind SETTINGS, in pieces of so many bytes. */
function read(frames: readonly Buffer[], pieceBytes = Number.POSITIVE_INFINITY): readonly string[] {
  const sink = new RecordingFrames();
  const reader = new FrameReader(sink);
  const all = Buffer.concat([settings(), ...frames]);
  // As the buffer of a socket, it is used for every read.
  const buffer = Buffer.alloc(Math.min(all.length, pieceBytes) + 10);
  for (let at = 0; at < all.length; at += pieceBytes) {
    const count = all.copy(buffer, 0, at, Math.min(all.length, at + pieceBytes));
    reader.read(buffer, 0, count);
    buffer.fill('?');
  }
  return sink.all.slice(1);
}

const padded = (bytes: string, padding: number) =>
  Buffer.concat([Buffer.from([padding]), Buffer.from(bytes), Buffer.alloc(padding)]);

const CONVERSATION = [
  settings([3, 100], [4, 1_000]),
  frame(TYPE.settings, 1, 0),
  frame(TYPE.headers, END_HEADERS, 1, 'block'),
  frame(TYPE.headers, END_STREAM, 3, 'one '),
  frame(TYPE.continuation, 0, 3, 'two '),
  frame(TYPE.continuation, END_HEADERS, 3, 'three'),
  frame(TYPE.headers, END_HEADERS | PADDED | PRIORITY, 5, padded('54321block', 7)),
  frame(TYPE.data, 0, 1, 'hello'),
  frame(TYPE.data, 0, 1, 'x'),
  frame(TYPE.data, PADDED, 1, padded('padded', 9)),
  frame(TYPE.data, PADDED, 5, padded('', 3)),
  frame(TYPE.data, PADDED | END_STREAM, 1, padded('last', 0)),
  frame(TYPE.data, END_STREAM, 5),
  frame(TYPE.priority, 0, 7, 'abcde'),
  frame(0x77, 0xff, 9, 'unknown'),
  frame(TYPE.ping, 0, 0, '12345678'),
  frame(TYPE.ping, 1, 0, '12345678'),
  frame(TYPE.rstStream, 0, 7, uint32(8)),
  frame(TYPE.windowUpdate, 0, 0, uint32(0x80000005)),
  frame(TYPE.windowUpdate, 0, 9, uint32(6)),
  frame(TYPE.goaway, 0, 0, Buffer.concat([uint32(0x80000009), uint32(2), Buffer.from('debug')])),
];

const READ = [
  'settings 0003000000640004000003e8',
  'settings ack',
  'headers 1 block',
  'headers 3 one two three end',
  'headers 5 block',
  'data 1 "helloxpadded" 22',
  'data 5 "" 4',
  'data 1 "last" 5 end',
  'data 5 "" 0 end',
  'ignored',
  'ignored',
  'ping 12345678',
  'ping ack',
  'reset 7 8',
  'window 0 5',
  'window 9 6',
  'goaway 9 2',
];

describe('frames are read', () => {
  test.each([Number.POSITIVE_INFINITY, 1, 2, 3, 5, 8, 9, 10, 11, 17, 64])('in pieces of %d bytes', bytes => {
    expect(read(CONVERSATION, bytes)).toEqual(READ);
  });

  test('of the largest size', () => {
    const body = 'x'.repeat(16_384);
    expect(read([frame(TYPE.data, END_STREAM, 1, body)], 10_000)).toEqual([`data 1 "${body}" 16384 end`]);
    expect(read([frame(TYPE.headers, END_HEADERS, 1, body)], 10_000)).toEqual([`headers 1 ${body}`]);
  });

  test('of DATA before they are complete', () => {
    const sink = new RecordingFrames();
    const reader = new FrameReader(sink);
    const bytes = Buffer.concat([settings(), frame(TYPE.data, END_STREAM, 1, 'hello')]);
    reader.read(bytes, 0, bytes.length - 3);
    expect(sink.all).toEqual(['settings ', 'data 1 "he" 2']);
  });

  test('of DATA of one stream that come together as one piece', () => {
    const pieces: string[] = [];
    const sink = new RecordingFrames();
    sink.data = (stream, bytes, _flowBytes, ends) =>
      void pieces.push(`${stream} ${bytes}${ends ? ' end' : ''}`);
    const reader = new FrameReader(sink);
    const data = (stream: number, text: string, flags = 0) => frame(TYPE.data, flags, stream, text);
    const bytes = Buffer.concat([
      ...[
        settings(),
        data(1, 'a'),
        data(1, 'b'),
        data(3, 'c'),
        data(1, 'd'),
        frame(TYPE.ping, 0, 0, '12345678'),
      ],
      ...[data(1, 'e'), data(1, ''), data(1, 'f'), data(1, 'g', END_STREAM), data(3, 'h'), data(3, 'ijk')],
    ]);
    reader.read(bytes, 0, bytes.length - 2);
    expect(pieces).toEqual(['1 ab', '3 c', '1 d', '1 e', '1 ', '1 fg end', '3 hi']);
  });

  test('of DATA that ends its stream when its padding is there, too', () => {
    const sink = new RecordingFrames();
    const reader = new FrameReader(sink);
    const last = frame(TYPE.data, PADDED | END_STREAM, 1, padded('hello', 3));
    const bytes = Buffer.concat([settings(), last]);
    reader.read(bytes, 0, bytes.length - 1);
    expect(sink.all).toEqual(['settings ', 'data 1 "hello" 9']);
    reader.read(Buffer.alloc(1), 0, 1);
    expect(sink.all.slice(2)).toEqual(['data 1 "" 0 end']);
    expect(read([last])).toEqual(['data 1 "hello" 9 end']);
  });

  test('with priority and padding around an empty header block', () => {
    expect(read([frame(TYPE.headers, END_HEADERS | PADDED | PRIORITY, 1, '\0' + '54321')])).toEqual([
      'headers 1 ',
    ]);
  });

  test('with eight CONTINUATIONs, which are few enough', () => {
    const rest = Array.from({ length: 8 }, (_, i) =>
      frame(TYPE.continuation, i === 7 ? END_HEADERS : 0, 1, 'b'),
    );
    expect(read([frame(TYPE.headers, 0, 1, 'a'), ...rest])).toEqual(['headers 1 abbbbbbbb']);
  });
});

const PROTOCOL_ERROR = 1;
const FRAME_SIZE_ERROR = 6;
const ENHANCE_YOUR_CALM = 11;
const open = frame(TYPE.headers, 0, 1, 'a');

describe('a connection is at fault', () => {
  test.each<[string, number, Buffer[]]>([
    ['a frame that is too large', FRAME_SIZE_ERROR, [frame(TYPE.data, 0, 1, 'x'.repeat(16_385))]],
    ['a large frame of an unknown type', FRAME_SIZE_ERROR, [frame(0x77, 0, 1, 'x'.repeat(16_385))]],
    ['DATA on no stream', PROTOCOL_ERROR, [frame(TYPE.data, 0, 0, 'x')]],
    [
      'DATA that is all padding and more',
      PROTOCOL_ERROR,
      [frame(TYPE.data, PADDED, 1, Buffer.from([3, 0, 0]))],
    ],
    ['DATA without the length of its padding', FRAME_SIZE_ERROR, [frame(TYPE.data, PADDED, 1)]],
    ['HEADERS on no stream', PROTOCOL_ERROR, [frame(TYPE.headers, END_HEADERS, 0, 'a')]],
    [
      'HEADERS that are all padding and more',
      PROTOCOL_ERROR,
      [frame(TYPE.headers, PADDED, 1, Buffer.from([3, 0, 0]))],
    ],
    ['HEADERS without the length of their padding', FRAME_SIZE_ERROR, [frame(TYPE.headers, PADDED, 1)]],
    ['HEADERS without their priority', FRAME_SIZE_ERROR, [frame(TYPE.headers, PRIORITY, 1, 'abcd')]],
    ['another frame inside a header block', PROTOCOL_ERROR, [open, frame(TYPE.ping, 0, 0, '12345678')]],
    ['an unknown frame inside a header block', PROTOCOL_ERROR, [open, frame(0x77, 0, 1)]],
    ['HEADERS inside a header block', PROTOCOL_ERROR, [open, open]],
    ['CONTINUATION of another stream', PROTOCOL_ERROR, [open, frame(TYPE.continuation, 4, 3, 'b')]],
    ['CONTINUATION of nothing', PROTOCOL_ERROR, [frame(TYPE.continuation, 4, 1, 'b')]],
    [
      'CONTINUATION behind a whole block',
      PROTOCOL_ERROR,
      [frame(TYPE.headers, 4, 1, 'a'), frame(TYPE.continuation, 4, 1, 'b')],
    ],
    [
      'more than eight CONTINUATIONs',
      ENHANCE_YOUR_CALM,
      [open, ...Array.from({ length: 9 }, () => frame(TYPE.continuation, 0, 1, 'b'))],
    ],
    ['PRIORITY on the stream itself', PROTOCOL_ERROR, [frame(TYPE.priority, 0, 1, '\0\0\0\x01x')]],
    [
      'HEADERS with priority on the stream itself',
      PROTOCOL_ERROR,
      [frame(TYPE.headers, END_HEADERS | PRIORITY, 1, '\x80\0\0\x01xblock')],
    ],
    ['PRIORITY on no stream', PROTOCOL_ERROR, [frame(TYPE.priority, 0, 0, 'abcde')]],
    ['PRIORITY of a wrong length', FRAME_SIZE_ERROR, [frame(TYPE.priority, 0, 1, 'abcd')]],
    ['RST_STREAM on no stream', PROTOCOL_ERROR, [frame(TYPE.rstStream, 0, 0, uint32(0))]],
    ['RST_STREAM of a wrong length', FRAME_SIZE_ERROR, [frame(TYPE.rstStream, 0, 1, 'abc')]],
    ['SETTINGS on a stream', PROTOCOL_ERROR, [frame(TYPE.settings, 0, 1)]],
    ['SETTINGS of a wrong length', FRAME_SIZE_ERROR, [frame(TYPE.settings, 0, 0, 'abcdefg')]],
    ['an acknowledgement that says something', FRAME_SIZE_ERROR, [frame(TYPE.settings, 1, 0, 'abcdef')]],
    ['PUSH_PROMISE', PROTOCOL_ERROR, [frame(TYPE.pushPromise, END_HEADERS, 1, 'abcd')]],
    ['PING on a stream', PROTOCOL_ERROR, [frame(TYPE.ping, 0, 1, '12345678')]],
    ['PING of a wrong length', FRAME_SIZE_ERROR, [frame(TYPE.ping, 0, 0, '1234567')]],
    ['GOAWAY on a stream', PROTOCOL_ERROR, [frame(TYPE.goaway, 0, 1, '12345678')]],
    ['GOAWAY of a wrong length', FRAME_SIZE_ERROR, [frame(TYPE.goaway, 0, 0, '1234567')]],
    ['WINDOW_UPDATE of a wrong length', FRAME_SIZE_ERROR, [frame(TYPE.windowUpdate, 0, 0, '12345')]],
    ['a window that grows by nothing', PROTOCOL_ERROR, [frame(TYPE.windowUpdate, 0, 1, uint32(0x80000000))]],
  ])('by %s', (_, code, frames) => {
    expect(() => read(frames)).toThrow(expect.objectContaining({ code }));
    expect(() => read(frames, 1)).toThrow(expect.objectContaining({ code }));
  });

  test.each([
    [0, 8],
    [3, 5],
  ])('by a header block in several frames of more than 8 bytes: %i and %i', (first, second) => {
    const block = (end: string) => [
      frame(TYPE.headers, 0, 1, 'a'.repeat(first)),
      frame(TYPE.continuation, 0, 1, 'b'.repeat(second)),
      frame(TYPE.continuation, END_HEADERS, 1, end),
    ];
    const sink = new RecordingFrames();
    const pass = (end: string) => {
      const bytes = Buffer.concat([settings(), ...block(end)]);
      new FrameReader(sink, Buffer.alloc(0), 8).read(bytes, 0, bytes.length);
    };
    pass('');
    expect(sink.all.at(-1)).toBe(`headers 1 ${'a'.repeat(first)}${'b'.repeat(second)}`);
    expect(() => pass('c')).toThrow(expect.objectContaining({ code: ENHANCE_YOUR_CALM }));
  });

  test.each([
    ['does not begin with SETTINGS', frame(TYPE.ping, 0, 0, '12345678')],
    ['begins with an acknowledgement', frame(TYPE.settings, 1, 0)],
    ['speaks HTTP/1.1', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ])('that %s', (_, bytes) => {
    expect(() => new FrameReader(new RecordingFrames()).read(bytes, 0, bytes.length)).toThrow();
  });
});
