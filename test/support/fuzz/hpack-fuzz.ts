import { FieldGrade, HeaderDecoder, HeaderEncoder } from '../../../src/wire/http2/hpack/index.ts';
import { Http2Fault } from '../../../src/wire/http2/index.ts';
import type { Random } from '../random.ts';
import { type FuzzRun, fuzz } from './fuzz-run.ts';
import { type Field, HpackOfGo } from './hpack-of-go.ts';
import { mutate } from './mutate.ts';

/** Names that ours never indexes, whichever side sends them; without a value they are in the static table. */
const SECRETS = ['authorization', 'cookie', 'proxy-authorization'];
/** What Go says of two changes of the table's size in one block, which RFC 7541, 4.2 allows, and which its own encoder writes. */
const TWO_CHANGES = /dynamic table size update MUST occur at the beginning/;
/** What ours refuses and Go takes: integers of more than four bytes, and a change of an empty table behind a field. */
const STRICTER = /^(an integer that is too large|a change of the table after a field)$/;

export interface HpackFuzzResult {
  readonly cases: number;
  /** Blocks on which both decoders agree. */
  readonly decoded: number;
  /** Blocks that both refuse. */
  readonly refused: number;
  /** Blocks that ours alone refuses, for a reason that we know. */
  readonly stricter: number;
  readonly findings: readonly string[];
}

/**
 * Compares our HPACK with that of Go, connection by connection: what each encodes, the other decodes to the same fields, and of
 * blocks that are wounded both make the same, or refuse them.
 */
export async function fuzzHpack(run: FuzzRun): Promise<HpackFuzzResult> {
  const go = new HpackOfGo();
  const counts = { decoded: 0, refused: 0, stricter: 0 };
  const result = await fuzz(run, (random, note) => compare(go, random, counts, note));
  go.end();
  return { ...result, ...counts };
}

type Counts = { decoded: number; refused: number; stricter: number };

async function compare(
  go: HpackOfGo,
  random: Random,
  counts: Counts,
  note: (what: string) => void,
): Promise<void> {
  const sections = Array.from({ length: 1 + random.below(5) }, () => someFields(random));
  const theirs = await encodeWithGo(go, sections, random);
  const ours = encodeWithOurs(sections, random);
  for (const blocks of [theirs, ours]) {
    const wounded = mutate(blocks[random.below(blocks.length)] as Buffer, random);
    const all = [...blocks, wounded];
    go.begin();
    const [read, readByGo] = [decode(all), await Promise.all(all.map(block => go.decode(block)))];
    for (const [i, each] of read.entries()) {
      const other = readByGo[i] as Field[] | string;
      const sent = sections[i];
      const by = `${blocks === ours ? 'ours' : 'Go'}, block ${i}, ${all.map(block => block.toString('hex'))}`;
      if (sent !== undefined && textOf(each) !== textOf(expected(sent, blocks === ours)))
        note(`encoded by ${by}: ${JSON.stringify([sent, each])}`);
      if (textOf(each) === textOf(other)) typeof each === 'string' ? counts.refused++ : counts.decoded++;
      else if (typeof each === 'string' && STRICTER.test(each)) counts.stricter++;
      else if (typeof other === 'string' && TWO_CHANGES.test(other)) break;
      else note(`Go reads another of ${by}: ${JSON.stringify([each, other])}`);
      if (typeof each === 'string') break;
    }
  }
}

/** Ours knows names that are never indexed, Go fields. */
function textOf(read: readonly Field[] | string): string {
  if (typeof read === 'string') return 'refused';
  const secret = new Set(read.filter(([, , sensitive]) => sensitive).map(([name]) => name));
  return JSON.stringify([read.map(([name, value]) => [name, value]), [...secret].sort()]);
}

function expected(sent: readonly Field[], byOurs: boolean): Field[] {
  const secret = new Set(sent.filter(([, , sensitive]) => sensitive).map(([name]) => name));
  return sent.map(([name, value]) => [
    ...([name, value, secret.has(name) || (byOurs && SECRETS.includes(name) && value !== '')] as const),
  ]);
}

function encodeWithGo(go: HpackOfGo, sections: readonly Field[][], random: Random): Promise<Buffer[]> {
  go.begin();
  return Promise.all(
    sections.map(fields => {
      while (random.chance(0.2)) go.limitTable(random.below(random.pick([100, 4_097])));
      return go.encode(fields);
    }),
  );
}

function encodeWithOurs(sections: readonly Field[][], random: Random): Buffer[] {
  const encoder = new HeaderEncoder();
  return sections.map(fields => {
    while (random.chance(0.2)) encoder.limitTable(random.below(random.pick([100, 4_097, 2 ** 31])));
    const secret = new Set(fields.filter(([, , sensitive]) => sensitive).map(([name]) => name));
    const flat = fields.flatMap(field => field.slice(0, 2) as string[]);
    return Buffer.from(encoder.encode(flat, secret));
  });
}

/** One for all decoders, which keep what they know of each grader. */
const plain = () => FieldGrade.FIELD;

/** The fields of each block, or why it is refused; nothing is read behind that. */
function decode(blocks: readonly Buffer[]): (Field[] | string)[] {
  const decoder = new HeaderDecoder({ maxBytes: 1e9, maxFields: 1e9 }, plain);
  const read: (Field[] | string)[] = [];
  for (const block of blocks) {
    try {
      const { fields, neverIndexed } = decoder.decode(block);
      read.push(pairs(fields).map(([name, value]) => [name, value, neverIndexed.has(name)]));
    } catch (error) {
      if (!(error instanceof Http2Fault)) throw error;
      return [...read, error.message];
    }
  }
  return read;
}

function pairs(fields: readonly string[]): [string, string][] {
  return fields.flatMap((name, i) => (i % 2 === 0 ? [[name, fields[i + 1] as string]] : []));
}

function someFields(random: Random): Field[] {
  return Array.from({ length: random.below(8) }, () => {
    const name = random.pick([
      ':method',
      ':path',
      ':status',
      'cookie',
      'accept',
      'x-a',
      'x-b',
      `x-${random.below(50)}`,
      '',
    ]);
    const value = random.pick(['', 'GET', '/', '200', `${random.below(1_000)}`, 'a value', 'ÄÖ\xff\0\n']);
    const long = random.chance(0.1)
      ? random.bytes(random.below(random.pick([40, 300, 5_000]))).toString('latin1')
      : '';
    return [name, value + long, random.chance(0.05)];
  });
}
