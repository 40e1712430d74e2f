import { Random } from '../random.ts';
import { serverBytes } from './http2-frames-of-server.ts';
import type { Http2Reading } from './http2-reading.ts';
import { readHttp2WithNode } from './read-http2-with-node.ts';
import { readHttp2WithOurs } from './read-http2-with-ours.ts';
import { splitAt, splits } from './splits.ts';

const MAX_FINDINGS = 10;

export interface Http2Fuzz {
  readonly seed: number;
  readonly cases: number;
  /** Told before each case how many are done. */
  readonly onCase?: (done: number) => void;
}

export interface Http2FuzzResult {
  readonly cases: number;
  /** Whole responses on which both agree. */
  readonly accepted: number;
  /** Responses that ours does not take for whole. */
  readonly refused: number;
  /** Of these, responses that Node's client took for whole. */
  readonly stricter: number;
  readonly findings: readonly string[];
}

/**
 * Gives the same frames to our client and to Node's, which is nghttp2. Ours may refuse what Node accepts. What ours takes for a
 * whole response must be the same to Node, and the same however the bytes are split.
 */
export async function fuzzHttp2({ seed, cases, onCase }: Http2Fuzz): Promise<Http2FuzzResult> {
  const findings: string[] = [];
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  let [done, accepted, refused, stricter] = [0, 0, 0, 0];
  for (; done < cases && findings.length < MAX_FINDINGS; done++) {
    onCase?.(done);
    const random = new Random(seed + done);
    const streams = random.chance(0.6) ? 1 : 2;
    const bytes = serverBytes(random, streams);
    const note = (what: string) =>
      findings.push(`case ${done} of seed ${seed}: ${what}: ${bytes.toString('hex')}`);
    const ours = readHttp2WithOurs([bytes], streams);
    for (const ends of splits(bytes, false, random)) {
      const again = readHttp2WithOurs(splitAt(bytes, ends), streams);
      if (textOf(again) !== textOf(ours)) note(`split at ${ends}: ${JSON.stringify([ours, again])}`);
    }
    const node = await readHttp2WithNode(bytes, streams);
    for (const [i, reading] of ours.entries()) {
      const other = node[i] as Http2Reading;
      if (reading.whole) accepted++;
      else refused++;
      if (!reading.whole && other.whole) stricter++;
      // Node closes the connection where one of its streams is at fault.
      if (!other.whole && ours.some(({ whole }) => !whole)) continue;
      if (reading.whole && !isSame(reading, other))
        note(`Node reads another: ${JSON.stringify([reading, other])}`);
    }
  }
  Error.stackTraceLimit = stackTraceLimit;
  return { cases: done, accepted, refused, stricter, findings };
}

function isSame(ours: Http2Reading, node: Http2Reading): boolean {
  // Ours has no trailers behind a head without a body: HTTP/1.1 could not say them.
  const trailers = ['204', '304'].includes(ours.status) ? [] : node.trailers;
  return JSON.stringify(ours) === JSON.stringify({ ...node, trailers });
}

/** Of a response that breaks off, it depends on the reads how much of the body came before. */
function textOf(readings: readonly Http2Reading[]): string {
  return JSON.stringify(readings.map(reading => (reading.whole ? reading : { ...reading, body: '' })));
}
