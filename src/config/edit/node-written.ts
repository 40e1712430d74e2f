import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Scalar } from 'yaml';

/** Where a value is written: as itself, or as an alias. */
export interface WrittenNode {
  readonly range: readonly [number, number, number];
}

/** Finds the scalar or alias at a path, through aliases and merge keys; null: nothing is there. */
export function nodeWritten(document: Document.Parsed, path: readonly string[]): WrittenNode | null {
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

/** Of `<<: *one` or `<<: [*one, *two]`. */
function mergedMember(document: Document.Parsed, source: unknown, key: string): unknown {
  const sources = isSeq(source) ? source.items : [source];
  for (const each of sources) {
    const found = member(document, resolved(document, each), key);
    if (found !== undefined) return found;
  }
  return undefined;
}
