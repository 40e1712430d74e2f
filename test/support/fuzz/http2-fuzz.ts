import { PREFACE, TYPE, wholeFrames } from '../http2-frames.ts';
import { type FuzzRun, fuzz } from './fuzz-run.ts';
import { byName } from './go-quirks.ts';
import { clientBytes } from './http2-frames-of-client.ts';
import { serverBytes } from './http2-frames-of-server.ts';
import type { Http2Reading } from './http2-reading.ts';
import { readHttp2RequestsWithNode } from './read-http2-requests-with-node.ts';
import { readHttp2RequestsWithOurs } from './read-http2-requests-with-ours.ts';
import { readHttp2WithNode } from './read-http2-with-node.ts';
import { readHttp2WithOurs } from './read-http2-with-ours.ts';
import { ReadersOfGo } from './read-with-go.ts';
import { without } from './reading.ts';
import { splitAt, splits } from './splits.ts';

const BODILESS = ['204', '304'];

export interface Http2FuzzResult {
  readonly cases: number;
  /** Whole messages on which both agree. */
  readonly accepted: number;
  /** Messages that ours does not take for whole. */
  readonly refused: number;
  /** Of these, messages that Node took for whole. */
  readonly stricter: number;
  /** Messages that ours takes for whole and Go does not. */
  readonly stricterGo: number;
  readonly findings: readonly string[];
}

/**
 * Gives the same frames to our client, to Node's, which is nghttp2, and to Go's. Ours may refuse what they accept. What ours takes for
 * a whole response must be the same to Node, to Go unless that refuses it, and the same however the bytes are split.
 */
export async function fuzzHttp2Responses(run: FuzzRun): Promise<Http2FuzzResult> {
  const go = run.withGo === false ? null : new ReadersOfGo();
  let [accepted, refused, stricter, stricterGo] = [0, 0, 0, 0];
  const result = await fuzz(run, async (random, note) => {
    const streams = random.chance(0.6) ? 1 : 2;
    const bytes = serverBytes(random, streams);
    const ours = readHttp2WithOurs([bytes], streams);
    for (const ends of splits(bytes, false, random)) {
      const again = readHttp2WithOurs(splitAt(bytes, ends), streams);
      if (textOf(again) !== textOf(ours))
        note(`split at ${ends}: ${JSON.stringify([ours, again])}: ${bytes.toString('hex')}`);
    }
    const [byGo, node] = await Promise.all([
      go?.http2Responses(bytes, streams),
      readHttp2WithNode(bytes, streams),
    ]);
    for (const [i, reading] of ours.entries()) {
      const other = node[i] as Http2Reading;
      const another = byGo?.[i];
      if (reading.whole && another?.whole === false) stricterGo++;
      if (reading.whole && another?.whole === true && textOfGo(reading) !== textOfGo(another))
        note(`Go reads another: ${JSON.stringify([reading, another])}: ${bytes.toString('hex')}`);
      if (reading.whole) accepted++;
      else refused++;
      if (!reading.whole && other.whole) stricter++;
      // Node closes the connection where one of its streams is at fault.
      if (!other.whole && ours.some(({ whole }) => !whole)) continue;
      if (reading.whole && !isSame(reading, other))
        note(`Node reads another: ${JSON.stringify([reading, other])}: ${bytes.toString('hex')}`);
    }
  });
  go?.end();
  return { ...result, accepted, refused, stricter, stricterGo };
}

/** The same for the servers, and for requests. */
export async function fuzzHttp2Requests(run: FuzzRun): Promise<Http2FuzzResult> {
  const go = run.withGo === false ? null : new ReadersOfGo();
  let [accepted, refused, stricter, stricterGo] = [0, 0, 0, 0];
  const result = await fuzz(run, async (random, note) => {
    const bytes = clientBytes(random, 1 + random.below(3));
    const ours = readHttp2RequestsWithOurs([bytes]);
    for (const ends of splits(bytes, false, random)) {
      const again = readHttp2RequestsWithOurs(splitAt(bytes, ends));
      if (requestsText(again) !== requestsText(ours))
        note(`split at ${ends}: ${JSON.stringify([[...ours], [...again]])}: ${bytes.toString('hex')}`);
    }
    const [byGo, { readings, fault }] = await Promise.all([
      go?.http2Requests(bytes),
      readHttp2RequestsWithNode(bytes),
    ]);
    for (const [id, reading] of ours) {
      const other = readings.get(id);
      const another = byGo?.readings.get(id);
      if (byGo && reading.whole && another?.whole !== true) stricterGo++;
      if (reading.whole && another?.whole === true && textOfGo(reading) !== textOfGo(another))
        note(`Go reads another on ${id}: ${JSON.stringify([reading, another])}: ${bytes.toString('hex')}`);
      if (reading.whole) accepted++;
      else refused++;
      if (!reading.whole && other?.whole === true) stricter++;
      // Node ends more connections than ours, and with them requests that were whole, as a reset behind the end of one does.
      if (!reading.whole || (other?.whole !== true && (fault !== null || hasReset(bytes, id)))) continue;
      if (JSON.stringify(reading) !== JSON.stringify(other))
        note(`Node reads another on ${id}: ${JSON.stringify([reading, other])}: ${bytes.toString('hex')}`);
    }
  });
  go?.end();
  return { ...result, accepted, refused, stricter, stricterGo };
}

/**
 * What Go tells as well: fields in no order, and not the scheme. Of a request it tells only the trailers that were announced, and no `host`
 * beside `:authority`.
 */
function textOfGo({ status, fields, body, trailers }: Http2Reading): string {
  // As for `isSame`; and a 204 has no length to HTTP/1.1 either.
  const told = status === '' || BODILESS.includes(status) ? [] : trailers;
  const unkept: Readonly<Record<string, string>> = { '': 'host', '204': 'content-length' };
  const untold = [':scheme', 'trailer', unkept[status] ?? ''];
  const kept = untold.reduce(without, fields);
  return JSON.stringify([status, byName(unpadded(kept)), body, byName(unpadded(told))]);
}

/** Fields without those that ours and nghttp2 leave out of a response: their values begin or end with a blank (RFC 9113, 8.2.1). */
function unpadded(fields: readonly string[]): string[] {
  return fields.filter((_, i) => !/^[ \t]|[ \t]$/.test(fields[i - (i % 2) + 1] ?? ''));
}

function hasReset(bytes: Buffer, stream: number): boolean {
  return wholeFrames(bytes.subarray(PREFACE.length)).some(
    each => each.type === TYPE.rstStream && each.stream === stream,
  );
}

function requestsText(readings: ReadonlyMap<number, Http2Reading>): string {
  return [...readings].map(([id, reading]) => `${id} ${textOf([reading])}`).join();
}

function isSame(ours: Http2Reading, node: Http2Reading): boolean {
  // Ours has no trailers behind a head without a body: HTTP/1.1 could not say them.
  const trailers = BODILESS.includes(ours.status) ? [] : node.trailers;
  return JSON.stringify(ours) === JSON.stringify({ ...node, trailers });
}

/** How much of the body of a message that breaks off came before depends on the reads. */
function textOf(readings: readonly Http2Reading[]): string {
  return JSON.stringify(readings.map(reading => (reading.whole ? reading : { ...reading, body: '' })));
}
