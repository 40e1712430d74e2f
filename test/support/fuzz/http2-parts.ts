import type { HeaderEncoder } from '../../../src/wire/http2/hpack/index.ts';
import { block, FLAG, frame, settings, TYPE, uint32 } from '../http2-frames.ts';
import type { Random } from '../random.ts';
import { mutate } from './mutate.ts';

const PRIORITY = 0x20;
const PRIORITY_UPDATE = 0x10;

export type Pairs = [string, string][];

/**
 * The frames of streams as they are sent on one connection, with others in between: mostly valid, sometimes in odd orders,
 * sometimes wounded.
 *
 * @param units frames that stay together, in the order in which their blocks were encoded
 * @param others how often another frame, which often ends the connection, follows a unit
 */
export function connectionBytes(units: readonly Buffer[][], random: Random, others = 0.12): Buffer {
  const frames: Buffer[] = [settings(...somePairs(random))];
  for (const unit of units) {
    frames.push(...unit);
    if (random.chance(others)) frames.push(controlFrame(random));
  }
  if (random.chance(0.08)) frames.splice(1 + random.below(frames.length - 1), 1);
  if (random.chance(0.08)) frames.splice(random.below(frames.length), 0, random.pick(frames));
  const bytes = Buffer.concat(frames);
  return random.chance(0.25) ? mutate(bytes, random) : bytes;
}

/** @param isNoneEmpty true: each frame has a byte of the block at least, if that has two */
export function headerFrames(
  id: number,
  pairs: Pairs,
  ends: boolean,
  encoder: HeaderEncoder,
  random: Random,
  isNoneEmpty = false,
): Buffer[] {
  const bytes = random.chance(0.6) ? Buffer.from(encoder.encode(pairs.flat())) : block(pairs);
  const flags = ends ? FLAG.endStream : 0;
  if (random.chance(0.85)) return [frame(TYPE.headers, flags | FLAG.endHeaders, id, bytes)];
  if (random.chance(0.5)) {
    const padding = random.below(20);
    const payload = Buffer.concat([Buffer.from([padding, 0, 0, 0, 0, 1]), bytes, Buffer.alloc(padding)]);
    return [frame(TYPE.headers, flags | FLAG.endHeaders | FLAG.padded | PRIORITY, id, payload)];
  }
  const cut = isNoneEmpty ? 1 + random.below(bytes.length - 1) : random.below(bytes.length + 1);
  return [
    frame(TYPE.headers, flags, id, bytes.subarray(0, cut)),
    frame(TYPE.continuation, FLAG.endHeaders, id, bytes.subarray(cut)),
  ];
}

export function dataFrame(
  id: number,
  text: string,
  ends: boolean,
  random: Random,
  isUnpadded = false,
): Buffer {
  const flags = ends ? FLAG.endStream : 0;
  if (isUnpadded || random.chance(0.9)) return frame(TYPE.data, flags, id, text);
  const padding = random.below(100);
  return frame(
    TYPE.data,
    flags | FLAG.padded,
    id,
    Buffer.concat([Buffer.from([padding]), Buffer.from(text), Buffer.alloc(padding)]),
  );
}

function controlFrame(random: Random): Buffer {
  const stream = random.pick([0, 1, 2, 3, 5]);
  return random.pick([
    () => frame(TYPE.ping, random.below(2), 0, '12345678'),
    () => settings(...somePairs(random)),
    () => frame(TYPE.settings, 1, 0),
    () => frame(TYPE.windowUpdate, 0, stream, uint32(random.pick([0, 1, 70_000, 0x7fffffff]))),
    () => frame(TYPE.priority, 0, stream, 'abcde'),
    () => frame(0x77, random.below(256), stream, 'unknown'),
    () => frame(TYPE.data, 0, stream),
    () => frame(PRIORITY_UPDATE, 0, 0, Buffer.concat([uint32(stream), Buffer.from('u=1, i')])),
    () =>
      frame(
        TYPE.goaway,
        0,
        0,
        Buffer.concat([uint32(random.pick([0, 1, 3, 0x7fffffff])), uint32(random.pick([0, 0, 2]))]),
      ),
    () =>
      frame(TYPE.pushPromise, FLAG.endHeaders, 1, Buffer.concat([uint32(2), block([[':method', 'GET']])])),
  ])();
}

function somePairs(random: Random): [number, number][] {
  const pairs: [number, number][] = [];
  while (random.chance(0.3))
    pairs.push([random.below(11), random.pick([0, 1, 100, 16_384, 65_535, 0x7fffffff, 0x80000000])]);
  return pairs.filter(([id, value]) => !random.chance(0.9) || isUsual(id, value));
}

/** Most of what would end the connection at once tells little. */
function isUsual(id: number, value: number): boolean {
  if (id === 2) return value === 0;
  if (id === 5) return value >= 16_384 && value < 2 ** 24;
  return id !== 4 || value < 2 ** 31;
}

export function fields(random: Random): Pairs {
  return Array.from({ length: random.below(5) }, () => [
    random.pick(['x-one', 'x-two', 'server', 'set-cookie', 'grpc-status', 'a', 'etag']),
    random.pick(['', '0', 'a value', '\xe4\xff', 'a, b', 'x'.repeat(random.below(300))]),
  ]);
}

export function oddField(random: Random): [string, string] {
  return random.pick<[string, string]>([
    [':status', '200'],
    [':path', '/'],
    ['X-Upper', '1'],
    ['connection', 'close'],
    ['transfer-encoding', 'chunked'],
    ['te', 'gzip'],
    ['te', 'trailers'],
    ['host', random.pick(['a.test', 'other.test'])],
    ['upgrade', 'websocket'],
    ['keep-alive', '5'],
    ['proxy-connection', 'close'],
    ['content-length', random.pick(['0', '5', '05', '+5', '', '5, 5', '99999999999999999999'])],
    ['x bad', '1'],
    ['', '1'],
    ['x-value', random.pick(['a\nb', 'a\0b', ' a', 'a\t', '\x7f', '\t'])],
  ]);
}
