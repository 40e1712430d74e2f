import { HeaderEncoder } from '../../../src/wire/http2/hpack/index.ts';
import { FLAG, frame, TYPE, uint32 } from '../http2-frames.ts';
import type { Random } from '../random.ts';
import { connectionBytes, dataFrame, fields, headerFrames, oddField, type Pairs } from './http2-parts.ts';

/** What a server sends on a connection with so many requests. */
export function serverBytes(random: Random, requests: number): Buffer {
  const encoder = new HeaderEncoder();
  const streams = Array.from({ length: requests }, (_, i) => responseFrames(2 * i + 1, encoder, random));
  return connectionBytes(streams.flat(), random);
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
  if (end === 'data' && body === '') units.push([frame(TYPE.data, FLAG.endStream, id)]);
  if (end === 'trailers')
    section(random.chance(0.04) ? [oddField(random)] : fields(random), !random.chance(0.03));
  if (random.chance(0.06))
    units.splice(random.below(units.length + 1), 0, [frame(TYPE.rstStream, 0, id, uint32(random.below(15)))]);
  return units;
}
