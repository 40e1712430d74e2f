import { HeaderEncoder } from '../../../src/http2/hpack/index.ts';
import { block, frame, settings, TYPE, uint32 } from '../http2-frames.ts';
import type { Random } from '../random.ts';
import { mutate } from './mutate.ts';

const END_STREAM = 1;
const END_HEADERS = 4;
const PADDED = 8;
const PRIORITY = 0x20;

type Pairs = [string, string][];

/** What a server sends on a connection with so many requests: mostly valid, sometimes in odd orders, sometimes wounded. */
export function serverBytes(random: Random, requests: number): Buffer {
  const encoder = new HeaderEncoder();
  const streams = Array.from({ length: requests }, (_, i) => responseFrames(2 * i + 1, encoder, random));
  const frames: Buffer[] = [settings(...somePairs(random))];
  // Frames of streams mix, those of one header block do not, and blocks stay in the order of their encoding.
  for (const unit of streams.flat()) {
    frames.push(...unit);
    if (random.chance(0.12)) frames.push(controlFrame(random));
  }
  if (random.chance(0.08)) frames.splice(1 + random.below(frames.length - 1), 1);
  if (random.chance(0.08)) frames.splice(random.below(frames.length), 0, random.pick(frames));
  const bytes = Buffer.concat(frames);
  return random.chance(0.25) ? mutate(bytes, random) : bytes;
}

/** The frames of a response, in units that may stand anywhere behind each other. */
function responseFrames(id: number, encoder: HeaderEncoder, random: Random): Buffer[][] {
  const units: Buffer[][] = [];
  const section = (pairs: Pairs, ends: boolean) => units.push(headerFrames(id, pairs, ends, encoder, random));
  while (random.chance(0.1))
    section([[':status', random.pick(['100', '103', '199', '101'])], ...fields(random)], random.chance(0.03));
  const body = 'body of a response '.repeat(random.below(random.pick([2, 4, 1_500])));
  const end = random.pick(['head', 'data', 'data', 'data', 'trailers', 'trailers', 'none']);
  const head: Pairs = [
    [':status', random.pick(['200', '200', '200', '204', '304', '404', '503', '20', '999'])],
    ...fields(random),
  ];
  if (random.chance(0.3)) head.push(['content-length', String(body.length + (random.chance(0.1) ? 1 : 0))]);
  if (random.chance(0.04)) head.splice(random.below(head.length + 1), 0, oddField(random));
  section(head, end === 'head');
  if (end === 'head') return units;
  for (let at = 0; at < body.length; ) {
    const to = Math.min(body.length, at + 1 + random.below(random.pick([10, 500, 16_000])));
    units.push([dataFrame(id, body.slice(at, to), end === 'data' && to === body.length, random)]);
    at = to;
  }
  if (end === 'data' && body === '') units.push([frame(TYPE.data, END_STREAM, id)]);
  if (end === 'trailers')
    section(random.chance(0.04) ? [oddField(random)] : fields(random), !random.chance(0.03));
  if (random.chance(0.06))
    units.splice(random.below(units.length + 1), 0, [frame(TYPE.rstStream, 0, id, uint32(random.below(15)))]);
  return units;
}

function headerFrames(
  id: number,
  pairs: Pairs,
  ends: boolean,
  encoder: HeaderEncoder,
  random: Random,
): Buffer[] {
  const bytes = random.chance(0.6) ? Buffer.from(encoder.encode(pairs.flat())) : block(pairs);
  const flags = ends ? END_STREAM : 0;
  if (random.chance(0.85)) return [frame(TYPE.headers, flags | END_HEADERS, id, bytes)];
  if (random.chance(0.5)) {
    const padding = random.below(20);
    const payload = Buffer.concat([Buffer.from([padding, 0, 0, 0, 0, 1]), bytes, Buffer.alloc(padding)]);
    return [frame(TYPE.headers, flags | END_HEADERS | PADDED | PRIORITY, id, payload)];
  }
  const cut = random.below(bytes.length + 1);
  return [
    frame(TYPE.headers, flags, id, bytes.subarray(0, cut)),
    frame(TYPE.continuation, END_HEADERS, id, bytes.subarray(cut)),
  ];
}

function dataFrame(id: number, text: string, ends: boolean, random: Random): Buffer {
  const flags = ends ? END_STREAM : 0;
  if (random.chance(0.9)) return frame(TYPE.data, flags, id, text);
  const padding = random.below(100);
  return frame(
    TYPE.data,
    flags | PADDED,
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
    () =>
      frame(
        TYPE.goaway,
        0,
        0,
        Buffer.concat([uint32(random.pick([0, 1, 3, 0x7fffffff])), uint32(random.pick([0, 0, 2]))]),
      ),
    () => frame(TYPE.pushPromise, END_HEADERS, 1, Buffer.concat([uint32(2), block([[':method', 'GET']])])),
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

function fields(random: Random): Pairs {
  return Array.from({ length: random.below(5) }, () => [
    random.pick(['x-one', 'x-two', 'server', 'set-cookie', 'grpc-status', 'a', 'etag']),
    random.pick(['', '0', 'a value', '\xe4\xff', 'a, b', 'x'.repeat(random.below(300))]),
  ]);
}

function oddField(random: Random): [string, string] {
  return random.pick<[string, string]>([
    [':status', '200'],
    [':path', '/'],
    ['X-Upper', '1'],
    ['connection', 'close'],
    ['transfer-encoding', 'chunked'],
    ['te', 'gzip'],
    ['te', 'trailers'],
    ['content-length', random.pick(['0', '5', '05', '+5', '', '5, 5', '99999999999999999999'])],
    ['x bad', '1'],
    ['', '1'],
    ['x-value', random.pick(['a\nb', 'a\0b', ' a', 'a\t', '\x7f', '\t'])],
  ]);
}
