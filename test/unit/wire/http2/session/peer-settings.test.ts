import { expect, test } from 'vitest';
import { PeerSettings } from '../../../../../src/wire/http2/session/peer-settings.ts';
import { settings } from '../../../../support/http2-frames.ts';

const HEAD_BYTES = 9;
const read = (into: PeerSettings, ...pairs: (readonly [number, number])[]) =>
  into.read(settings(...pairs).subarray(HEAD_BYTES));

test('what a server does not say is as RFC 9113 has it', () => {
  expect(new PeerSettings(false)).toMatchObject({
    maxStreams: Number.POSITIVE_INFINITY,
    window: 65_535,
    tableBytes: 4_096,
    maxSectionBytes: Number.POSITIVE_INFINITY,
  });
});

test('what it says holds until it says otherwise, and the last entry of a frame counts', () => {
  const server = new PeerSettings(false);
  read(server, [1, 0], [3, 10], [3, 20], [4, 0x7fffffff], [5, 0xffffff], [6, 1], [0x77, 0xffffffff]);
  expect(server).toMatchObject({ maxStreams: 20, window: 0x7fffffff, tableBytes: 0, maxSectionBytes: 1 });
  read(server, [2, 0], [8, 1], [9, 0]);
  expect(server).toMatchObject({ maxStreams: 20 });
});

test('whether a server uses priorities, only its first frame says', () => {
  const server = new PeerSettings(false);
  read(server, [9, 1]);
  read(server, [9, 1]);
  expect(() => read(server, [9, 0])).toThrow(expect.objectContaining({ code: 1 }));
});

test('values at their bounds are allowed, and so is the same once more', () => {
  const server = new PeerSettings(false);
  read(
    server,
    ...Array.from({ length: 28 }, () => [0x77, 1] as const),
    [5, 16_384],
    [5, 0xffffff],
    [8, 1],
    [8, 1],
  );
  const client = new PeerSettings(true);
  read(client, [2, 1], [2, 0]);
  expect(() => read(client, [2, 2])).toThrow(expect.objectContaining({ code: 1 }));
});

test('a section is accepted up to the size that it allows, with 32 bytes for each field', () => {
  const server = new PeerSettings(false);
  const fields = ['x-a', 'b', 'x-cd', ''];
  const accepted = [server.accepts(fields)];
  for (const bytes of [72, 71]) {
    read(server, [6, bytes]);
    accepted.push(server.accepts(fields));
  }
  expect(accepted).toEqual([true, true, false]);
});

test.each<[string, number, readonly [number, number][]]>([
  ['pushes of a server', 1, [[2, 1]]],
  ['a first window that is too large', 3, [[4, 0x80000000]]],
  ['a frame size that is too small', 1, [[5, 16_383]]],
  ['a frame size that is too large', 1, [[5, 0x1000000]]],
  ['CONNECT neither allowed nor not', 1, [[8, 2]]],
  [
    'CONNECT allowed no longer',
    1,
    [
      [8, 1],
      [8, 0],
    ],
  ],
  ['priorities neither used nor not', 1, [[9, 2]]],
  ['too many entries', 11, Array.from({ length: 33 }, () => [0x77, 1] as const)],
])('%s cannot be', (_, code, pairs) => {
  expect(() => read(new PeerSettings(false), ...pairs)).toThrow(expect.objectContaining({ code }));
});
