import { join } from 'node:path';
import { type Document, isAlias, isMap, isScalar, isSeq, type Node, parseDocument, type Scalar } from 'yaml';
import { thisMachine } from '../../core/index.ts';
import { formatPeriod } from '../../limits/index.ts';
import { formatDiagnostic, listYamlFiles, readConfigFile } from '../file/index.ts';

/** A quota of limits.yaml with a new number. */
export interface QuotaChange {
  /** The path of the quota, such as `['buckets', 'messages', 'user']`. */
  readonly path: readonly string[];
  readonly units: number;
  readonly periodMs: number;
  /** The text of the comment above it. */
  readonly why: string;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Marks our comments, so that the next run can remove them. */
const MARK = '# weir suggest: ';
const OUR_LINES = /^[ \t]*# weir suggest: .*\n/gm;

/** The text of limits.yaml, or of the files of a limits folder. Changes numbers in it and leaves everything else as written. */
export class LimitsText {
  readonly #files: readonly LimitsFileText[];

  private constructor(files: readonly LimitsFileText[]) {
    this.#files = files;
  }

  /** Reads files that are known to be valid. */
  static async read(path: string): Promise<LimitsText> {
    const names = await listYamlFiles(path, thisMachine.files);
    const files =
      names === null ? [{ name: '', path }] : names.map(name => ({ name, path: join(path, name) }));
    const texts = files.map(async file => {
      const read = await readConfigFile(file.path, thisMachine.files);
      if (!read.ok) throw new Error(formatDiagnostic(read.diagnostic));
      return new LimitsFileText(file.name, read.text);
    });
    return new LimitsText(await Promise.all(texts));
  }

  has(path: readonly string[]): boolean {
    return this.#files.some(file => file.has(path));
  }

  /** The files with the new numbers, by name in the folder; a single file has the name ''. */
  with(
    changes: readonly QuotaChange[],
    heading: readonly string[],
  ): { readonly name: string; readonly text: string }[] {
    return this.#files.map(file => ({ name: file.name, text: file.with(changes, heading) }));
  }
}

class LimitsFileText {
  readonly name: string;
  readonly #text: string;
  readonly #document: Document.Parsed;

  constructor(name: string, text: string) {
    this.name = name;
    this.#text = text.replace(/^\ufeff/, '').replace(OUR_LINES, '');
    this.#document = parseDocument(this.#text, { merge: true, stringKeys: true, uniqueKeys: false });
  }

  has(path: readonly string[]): boolean {
    return nodeWritten(this.#document, path) !== null;
  }

  with(changes: readonly QuotaChange[], heading: readonly string[]): string {
    const places = changes.flatMap(change => {
      const node = nodeWritten(this.#document, change.path);
      return node === null ? [] : [{ change, start: node.range[0], end: node.range[1] }];
    });
    // Buckets that share a quota by an alias need the highest of their numbers.
    const byPlace = [...Map.groupBy(places, ({ start }) => start).values()];
    const edits = byPlace.flatMap(same => {
      const [first] = same.toSorted((a, b) => b.change.units - a.change.units);
      if (first === undefined) return [];
      const { change, start, end } = first;
      return [{ start, end, text: quotaLike(this.#text.slice(start, end), change) }];
    });
    const notes = places.map(({ change, start }) => this.#comment(start, change.why));
    const top = { start: 0, end: 0, text: heading.map(line => `${MARK}${line}\n`).join('') };
    return this.#edited([top, ...notes, ...edits]);
  }

  /** Inserts a comment line above the line of `offset`. */
  #comment(offset: number, why: string): Edit {
    const start = this.#text.lastIndexOf('\n', offset - 1) + 1;
    const indent = /^[ \t]*/.exec(this.#text.slice(start, offset))?.[0] ?? '';
    return { start, end: start, text: `${indent}${MARK}${why}\n` };
  }

  #edited(edits: readonly Edit[]): string {
    let text = '';
    let at = 0;
    for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
      text += this.#text.slice(at, edit.start) + edit.text;
      at = edit.end;
    }
    return text + this.#text.slice(at);
  }
}

/** Changes only the number if it is written as a literal; replaces a variable or alias by the quota. */
function quotaLike(written: string, { units, periodMs }: QuotaChange): string {
  const parts = /^(["']?)\d+(\/(?:\d+[smhd]|day|week|month)["']?)$/.exec(written);
  return parts === null ? `${units}/${formatPeriod({ periodMs })}` : `${parts[1]}${units}${parts[2]}`;
}

/** Where a value is written: directly, or as an alias. */
interface WrittenNode {
  readonly range: readonly [number, number, number];
}

/** Finds the scalar or alias at a path, through aliases and merge keys; null if there is none. */
function nodeWritten(document: Document.Parsed, path: readonly string[]): WrittenNode | null {
  let node: unknown = document.contents;
  for (const key of path) node = member(document, resolved(document, node), key);
  if (!isScalar(resolved(document, node)) || !(isScalar(node) || isAlias(node))) return null;
  const { range } = node;
  return range === null || range === undefined ? null : { range };
}

function resolved(document: Document.Parsed, node: unknown): Node | Scalar | undefined {
  if (isAlias(node)) return node.resolve(document);
  return node as Node | undefined;
}

function member(document: Document.Parsed, map: unknown, key: string): unknown {
  if (isSeq(map)) return map.items[Number(key)];
  if (!isMap(map)) return undefined;
  const own = map.items.find(pair => isScalar(pair.key) && String(pair.key.value) === key);
  if (own !== undefined) return own.value;
  for (const { key: merge, value } of map.items) {
    if (!isScalar(merge) || merge.source !== '<<') continue;
    const found = mergedMember(document, resolved(document, value), key);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Finds a member that comes from `<<: *one` or `<<: [*one, *two]`. */
function mergedMember(document: Document.Parsed, source: unknown, key: string): unknown {
  const sources = isSeq(source) ? source.items : [source];
  for (const each of sources) {
    const found = member(document, resolved(document, each), key);
    if (found !== undefined) return found;
  }
  return undefined;
}
