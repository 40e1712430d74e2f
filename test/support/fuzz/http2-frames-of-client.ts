import { HeaderEncoder } from '../../../src/wire/http2/hpack/index.ts';
import { FLAG, frame, PREFACE, TYPE, uint32 } from '../http2-frames.ts';
import type { Random } from '../random.ts';
import { connectionBytes, dataFrame, fields, headerFrames, oddField, type Pairs } from './http2-parts.ts';

/** The field that tells requests apart. */
export const REQUEST_NAME = 'x-request';

/** Valid things that a client does not send, since the other side would end the connection at them. */
export interface LeftOut {
  readonly trailers?: boolean;
  /** HEADERS and CONTINUATION without a byte of a block. */
  readonly emptyBlocks?: boolean;
  readonly paddedData?: boolean;
}

/** What a client sends on a connection with so many requests, whose frames mix. */
export function clientBytes(random: Random, requests: number, leftOut: LeftOut = {}): Buffer {
  const encoder = new HeaderEncoder();
  const units: Buffer[][] = [];
  const open: Generator<Buffer[]>[] = [];
  for (let opened = 0; opened < requests || open.length > 0; ) {
    let at = random.below(open.length);
    // The head follows at once: the numbers of streams only grow.
    if (opened < requests && (open.length === 0 || random.chance(0.5)))
      at = open.push(requestFrames(2 * opened++ + 1, encoder, random, leftOut)) - 1;
    const { done, value } = (open[at] as Generator<Buffer[], undefined>).next();
    if (done === true) open.splice(at, 1);
    else units.push(value);
  }
  return Buffer.concat([Buffer.from(PREFACE), connectionBytes(units, random, 0.04)]);
}

/** The frames of a request, in units between which those of others may stand. */
function* requestFrames(
  id: number,
  encoder: HeaderEncoder,
  random: Random,
  leftOut: LeftOut,
): Generator<Buffer[]> {
  const body = 'body of a request '.repeat(random.below(random.pick([2, 4, 1_500])));
  const ends = ['head', 'data', 'data', 'data', 'none'];
  const end = random.pick(leftOut.trailers === true ? ends : [...ends, 'trailers', 'trailers']);
  const head: Pairs = [
    ...pseudoFields(random),
    [REQUEST_NAME, `${id}-${random.below(1e9)}`],
    ...fields(random),
  ];
  const length = end === 'head' ? 0 : body.length;
  if (random.chance(0.3)) head.push(['content-length', String(length + (random.chance(0.1) ? 1 : 0))]);
  if (random.chance(0.04)) head.splice(random.below(head.length + 1), 0, oddField(random));
  if (random.chance(0.02)) head.splice(random.below(head.length), 1);
  yield headerFrames(id, head, end === 'head', encoder, random, leftOut.emptyBlocks);
  for (let at = 0; at < length; ) {
    if (random.chance(0.01)) yield [frame(TYPE.rstStream, 0, id, uint32(random.below(15)))];
    const to = Math.min(length, at + 1 + random.below(random.pick([10, 500, 16_000])));
    yield [dataFrame(id, body.slice(at, to), end === 'data' && to === length, random, leftOut.paddedData)];
    at = to;
  }
  if (end === 'data' && length === 0) yield [frame(TYPE.data, FLAG.endStream, id)];
  if (end !== 'trailers') return;
  const trailers = random.chance(0.04) ? [oddField(random)] : fields(random);
  if (trailers.length === 0 && leftOut.emptyBlocks === true) trailers.push(['x-last', '1']);
  yield headerFrames(id, trailers, !random.chance(0.03), encoder, random, leftOut.emptyBlocks);
}

const ODD_PATHS = [
  ...['*', '', 'a', '//a', '/a#b', '/%2e%2e/', '/a/../b', '/a b', '/a HTTP/1.1\r\nx: y', '/\xe4', '/a\\b'],
  ...['/a;b', '/%41%2f', '/a?b c', '/a?%', '/%'],
];

function pseudoFields(random: Random): Pairs {
  const pairs: Pairs = [
    [':method', random.pick(['GET', 'POST', 'POST', 'PUT', 'OPTIONS', 'HEAD'])],
    [':scheme', random.pick(['http', 'https'])],
    [':path', random.pick(random.chance(0.94) ? ['/', '/', '/a?b', '/a/b/c'] : ODD_PATHS)],
    [':authority', random.pick(['a.test', 'b.test:81'])],
  ];
  // RFC 9110, 7.1: only OPTIONS has this target.
  if (random.chance(0.04)) pairs.splice(0, 3, [':method', 'OPTIONS'], [':scheme', 'http'], [':path', '*']);
  if (random.chance(0.2)) pairs.reverse();
  if (random.chance(0.03)) pairs.splice(random.below(4), 1);
  // RFC 8441.
  if (random.chance(0.05)) pairs.splice(0, 1, [':method', 'CONNECT'], [':protocol', 'websocket']);
  if (random.chance(0.02)) pairs.push([':protocol', 'websocket']);
  if (random.chance(0.02)) pairs.push([':method', 'CONNECT']);
  return pairs;
}
