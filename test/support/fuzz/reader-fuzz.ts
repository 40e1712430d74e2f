import { SLAB_BYTES } from '../../../src/upstream/pool.ts';
import { Random } from '../random.ts';
import type { FuzzRun } from './fuzz-run.ts';
import { byName } from './go-quirks.ts';
import { type GoReading, ReadersOfGo } from './read-with-go.ts';
import { readWithNode } from './read-with-node.ts';
import { readWithOurs } from './read-with-ours.ts';
import { readWithUndici } from './read-with-undici.ts';
import { type Reading, without } from './reading.ts';
import { splitAt, splits } from './splits.ts';
import { wireResponse } from './wire-responses.ts';

const MAX_FINDINGS = 10;
/** Node's client and undici do not recognize "chunked" with a tab after it, which is not part of the value (RFC 9112, 5.1). */
const TAB_BEHIND_CODING = /transfer-encoding:.*\t *\r/i;

export interface ReaderFuzz extends FuzzRun {
  /** Of how many small messages one is read with every split into two; the others with some. */
  readonly everySplitOfOneIn: number;
}

export interface ReaderFuzzResult {
  readonly cases: number;
  /** Whole responses on which our reader, Node's client, undici and Go's client agree, unless Go refused them. */
  readonly accepted: number;
  /** Bytes that ours refused. */
  readonly refused: number;
  /** Of these, bytes that Node's client took for a whole response. */
  readonly stricter: number;
  /** Responses that Go's client alone did not take, by its reason. */
  readonly stricterGo: Readonly<Record<string, number>>;
  readonly findings: readonly string[];
}

/**
 * Gives the same bytes to our reader, to Node's own client, to undici and to Go's client. Ours may refuse what they accept. What it
 * accepts must be the same response to all, unless Go refuses it, however the bytes are split.
 */
export async function fuzzReader(run: ReaderFuzz): Promise<ReaderFuzzResult> {
  const { seed, cases, everySplitOfOneIn, withGo = true } = run;
  const findings: string[] = [];
  const go = withGo ? new ReadersOfGo() : null;
  const stricterGo: Record<string, number> = {};
  // What is refused is refused with an error each, whose stack costs more than the reading.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  let [done, accepted, refused, stricter] = [0, 0, 0, 0];
  for (; done < cases && findings.length < MAX_FINDINGS; done++) {
    const random = new Random(seed + done);
    const { method, bytes } = wireResponse(random);
    const before = findings.length;
    const note = (what: string): void => {
      if (findings.length > before) return;
      findings.push(
        `case ${done} of seed ${seed}: ${what}: ${method} ${JSON.stringify(bytes.toString('latin1'))}`,
      );
    };
    const ours = readWithOurs(splitAt(bytes, readEnds(bytes)), method);
    for (const ends of splits(bytes, done % everySplitOfOneIn === 0, random, readEnds(bytes))) {
      const wrong = difference(ours, readWithOurs(splitAt(bytes, ends), method));
      if (wrong !== null) note(`split at ${ends}, another ${wrong}`);
    }
    const [byGo, node, undici] = await Promise.all([
      go?.response(bytes, method),
      readWithNode(bytes, method),
      readWithUndici(bytes, method),
    ]);
    if (byGo && ours.outcome === 'whole' && byGo.outcome !== 'whole')
      stricterGo[byGo.why] = 1 + (stricterGo[byGo.why] ?? 0);
    const unlikeGo = byGo ? disagreementWithGo(ours, byGo) : null;
    if (unlikeGo !== null) note(`Go reads another ${unlikeGo}: ${JSON.stringify([ours, byGo])}`);
    for (const [name, other] of [['node', node] as const, ['undici', undici] as const]) {
      if (other.outcome !== 'whole' && isKnownRefusal(name, bytes)) continue;
      // Where bytes follow the response, some clients do not come to its end.
      if (other.outcome !== 'whole' && hasBytesBehind(ours, bytes, method)) continue;
      if (TAB_BEHIND_CODING.test(bytes.toString('latin1'))) continue;
      const wrong = disagreement(ours, other);
      if (wrong !== null) note(`${name} reads another ${wrong}: ${JSON.stringify([ours, other])}`);
    }
    if (ours.outcome === 'whole') accepted++;
    if (ours.outcome === 'refused') refused++;
    if (ours.outcome === 'refused' && node.outcome === 'whole') stricter++;
  }
  go?.end();
  Error.stackTraceLimit = stackTraceLimit;
  return { cases: done, accepted, refused, stricter, stricterGo, findings };
}

/** Where another client is known to refuse what is in order, or harmless. */
function isKnownRefusal(name: 'node' | 'undici', bytes: Buffer): boolean {
  // A 100 that it did not ask for, which RFC 9110, 15.2 lets a server send.
  if (name === 'undici' && /HTTP\/1\.[01] 100/.test(bytes.toString('latin1'))) return true;
  // Blanks behind a length.
  if (name === 'undici' && /content-length:.*\d[ \t]+\r/i.test(bytes.toString('latin1'))) return true;
  // Bytes behind a message that says close, though that be an interim one, and the response is still to come.
  return /HTTP\/1\.[01] 1\d\d[\s\S]*\nconnection:.*\bclose\b/i.test(bytes.toString('latin1'));
}

/** Whether the response was complete before the last byte. */
function hasBytesBehind(ours: Reading, bytes: Buffer, method: string): boolean {
  const shorter = readWithOurs(splitAt(bytes.subarray(0, -1), readEnds(bytes)), method);
  return ours.outcome === 'whole' && difference(ours, shorter) === null;
}

/** What differs between our reading and that of another client, where ours is one; null: nothing. */
export function disagreement(ours: Reading, other: Reading): string | null {
  if (ours.outcome === 'refused') return null;
  if (ours.outcome === 'part') return other.outcome === 'whole' ? 'end' : null;
  return difference(ours, other);
}

/** Go keeps fields by their name, leaves out what says close or names trailers, and may refuse what ours accepts. */
function disagreementWithGo(ours: Reading, go: GoReading): string | null {
  if (go.outcome === 'refused') return null;
  return disagreement(sorted(ours), sorted(go));
}

function sorted(reading: Reading): Reading {
  const kept = (fields: readonly string[]) => byName(without(without(fields, 'connection'), 'trailer'));
  return {
    ...reading,
    interim: reading.interim.map(([status, fields]) => [status, kept(fields)]),
    fields: kept(reading.fields),
    trailers: kept(reading.trailers),
  };
}

function difference(ours: Reading, other: Reading): string | null {
  if (ours.outcome !== other.outcome) return 'outcome';
  // Whether the head was passed on before the rest turned out to be wrong depends on when the rest came.
  if (ours.outcome === 'refused' && (ours.status === 0 || other.status === 0)) return null;
  if (JSON.stringify(ours.interim) !== JSON.stringify(other.interim)) return 'interim response';
  if (ours.status !== other.status) return 'status';
  if (other.reason !== null && ours.reason !== other.reason) return 'reason';
  if (!sameFields(ours, other)) return 'field';
  // How much of a body came before it broke off may differ, and that before it is refused.
  if (ours.outcome === 'whole' && ours.body !== other.body) return 'body';
  if (!other.body.startsWith(ours.body) && !ours.body.startsWith(other.body)) return 'body';
  return JSON.stringify(ours.trailers) === JSON.stringify(other.trailers) ? null : 'trailer';
}

/** A reader that has the whole response may state its length even if the upstream did not. */
function sameFields(ours: Reading, other: Reading): boolean {
  const lengths = [ours, other].map(({ fields }) => fields.length - without(fields, 'content-length').length);
  const stated = lengths[0] === lengths[1];
  const [a, b] = stated
    ? [ours.fields, other.fields]
    : [without(ours.fields, 'content-length'), without(other.fields, 'content-length')];
  return JSON.stringify(a) === JSON.stringify(b);
}

/** No read brings more than a slab holds. */
function readEnds(bytes: Buffer): number[] {
  const ends: number[] = [];
  for (let at = SLAB_BYTES; at < bytes.length; at += SLAB_BYTES) ends.push(at);
  return ends;
}
