import { describe, expect, test } from 'vitest';
import { FrameFollower, type FrameRules } from '../../../../src/wire/websocket/frame-flow.ts';
import { CLOSE, closePayload, frame, masked } from '../../../support/raw-web-sockets.ts';

const FROM_CLIENT: FrameRules = { masked: true, extended: false };
const FROM_SERVER: FrameRules = { masked: false, extended: false };

/** Where a follower stops in these bytes, which come in pieces of so many. */
function passed(bytes: Buffer, rules: FrameRules, pieceBytes: number, stopsAtBoundary = false) {
  const follower = new FrameFollower(rules);
  let at = 0;
  while (at < bytes.length) {
    const piece = bytes.subarray(at, at + pieceBytes);
    const end = follower.follow(piece, stopsAtBoundary);
    at += end;
    if (end < piece.length) break;
  }
  return { at, closed: follower.closed, fault: follower.fault, atBoundary: follower.atBoundary };
}

const MESSAGES = Buffer.concat([
  masked(''),
  masked('a'.repeat(125)),
  masked('a'.repeat(126)),
  masked('part', { final: false }),
  masked('ping', { opcode: 9 }),
  masked('end', { opcode: 0 }),
  masked('a'.repeat(70_000), { opcode: 2 }),
  masked('long', { lengthBytes: 8 }),
]);

test.each([1, 2, 3, 7, 4_096, 1_000_000])('frames pass in pieces of %i bytes', pieceBytes => {
  const end = { at: MESSAGES.length, closed: false, fault: null, atBoundary: true };
  expect(passed(MESSAGES, FROM_CLIENT, pieceBytes)).toEqual(end);
});

test.each([1, 5, 1_000])('nothing passes behind a Close frame, in pieces of %i bytes', pieceBytes => {
  const close = frame(closePayload(1000, 'bye'), { opcode: CLOSE });
  const bytes = Buffer.concat([frame('hello'), close, frame('late')]);
  const end = { at: bytes.length - frame('late').length, closed: true, fault: null };
  expect(passed(bytes, FROM_SERVER, pieceBytes)).toMatchObject(end);
});

test('a Close frame may be empty', () => {
  expect(passed(frame('', { opcode: CLOSE }), FROM_SERVER, 1)).toMatchObject({ at: 2, closed: true });
});

describe('with a stop at the next boundary', () => {
  test('the frame that has begun passes to its end, and no further one', () => {
    const follower = new FrameFollower(FROM_CLIENT);
    follower.follow(masked('hello').subarray(0, 5), false);
    const rest = Buffer.concat([masked('hello').subarray(5), masked('no')]);
    expect(follower.follow(rest, true)).toBe(masked('hello').length - 5);
    expect(follower.atBoundary).toBe(true);
    expect(follower.follow(masked('no'), true)).toBe(0);
  });
});

test.each([
  ['an unmasked frame', FROM_CLIENT, frame('x')],
  ['a masked frame', FROM_SERVER, masked('x')],
  ['a reserved bit without an extension', FROM_CLIENT, masked('x', { reserved: 0x10 })],
  ['an unknown opcode without an extension', FROM_CLIENT, masked('x', { opcode: 7 })],
  ['an unknown opcode without an extension', FROM_CLIENT, masked('x', { opcode: 11 })],
  ['a control frame in fragments', FROM_CLIENT, masked('x', { opcode: 9, final: false })],
  ['a control frame that is too long', FROM_CLIENT, masked('x'.repeat(126), { opcode: 10 })],
])('%s is none, and nothing of it passes where it comes in one piece', (fault, rules, bad) => {
  const good = rules.masked ? masked('good') : frame('good');
  expect(passed(Buffer.concat([good, bad]), rules, 1_000_000)).toMatchObject({ at: good.length, fault });
  expect(passed(bad, rules, 1).fault).toBe(fault);
});

test('a length may have 63 bits, but not 64', () => {
  const header = (first: number) => Buffer.concat([Buffer.of(0x82, 127, first), Buffer.alloc(7, 0xff)]);
  expect(passed(header(0xff), FROM_SERVER, 100).fault).toBe('a length of more than 63 bits');
  expect(passed(header(0x7f), FROM_SERVER, 100)).toMatchObject({ fault: null, atBoundary: false });
});

test('an extension may give a meaning to reserved bits and opcodes, not to what is framing', () => {
  const extended = { masked: true, extended: true };
  const bytes = Buffer.concat([masked('x', { reserved: 0x70 }), masked('x', { opcode: 3 })]);
  expect(passed(bytes, extended, 100)).toMatchObject({ at: bytes.length, fault: null });
  expect(passed(frame('x'), extended, 100).fault).toBe('an unmasked frame');
});
