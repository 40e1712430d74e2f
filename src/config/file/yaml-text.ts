import {
  type Document,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  parseDocument,
  visit,
  type YAMLError,
  type YAMLMap,
} from 'yaml';
import { explainGlued, explainYaml, isGlued, oddCharacterIn } from './explain-yaml.ts';
import type { Broken, PlacedError, Position } from './place.ts';
import { SecretLines } from './secret-lines.ts';

export interface YamlText {
  /** The parsed text; `null` if it is so broken that further messages would be misleading. */
  readonly document: Document.Parsed | null;
  readonly errors: readonly PlacedError[];
  /** What messages may repeat of the text. */
  readonly secrets: SecretLines;
  placeOf(offset: number): Position;
}

/**
 * Parses one YAML 1.2 document.
 *
 * @param secretKeys the names of keys whose values are secrets.
 */
export function parseYamlText(text: string, secretKeys: readonly string[] = []): YamlText {
  // One line counter per document: a shared one returns wrong lines.
  const lineCounter = new LineCounter();
  const placeOf = (offset: number): Position => {
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };
  const secrets = new SecretLines(text, secretKeys);
  const odd = oddCharacterIn(text);
  if (odd.length > 0) return { document: null, errors: odd, secrets, placeOf };
  const document = parseDocument(text, {
    lineCounter,
    merge: true,
    prettyErrors: false,
    strict: true,
    stringKeys: true,
    // The parser compares all pairs of keys in a map, which is quadratic; `doubledKeys` is linear.
    uniqueKeys: false,
  });
  const glued = document.errors.length === 0 ? gluedKeys(document, text.split('\n'), placeOf) : [];
  if (glued.length > 0) return { document: null, errors: glued, secrets, placeOf };
  const errors = yamlErrors(document, text, placeOf, secrets).map(error => secrets.advise(error));
  return { document: document.errors.length === 0 ? document : null, errors, secrets, placeOf };
}

/** Collects the errors in a document, including the parser's warnings: each means that something is not what it seems. */
function yamlErrors(
  document: Document.Parsed,
  text: string,
  placeOf: (offset: number) => Position,
  secrets: SecretLines,
): PlacedError[] {
  const found = [...document.errors, ...document.warnings];
  const exhausted = found.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
  if (exhausted !== undefined) return [{ ...placeOf(exhausted.pos[0]), message: 'nested too deeply' }];
  // The tree reports tags itself, whether or not the parser knows them.
  const broken = found.filter(({ code }) => code !== 'TAG_RESOLVE_FAILED');
  // A duplicate key does not break the tree, so its other errors can be reported as well.
  if (broken.length === 0) return doubledKeys(document, placeOf, secrets);
  const lines = text.split('\n');
  const conflicts = mergeConflicts(lines);
  return conflicts.length > 0 ? conflicts : explainBroken(document, broken, { text, lines, placeOf });
}

/** Errors that usually cause later ones. */
const MAX_EXPLAINED = 50;

/** Explains the first error of each line: after one, the parser is out of step for the line, sometimes for the file. */
function explainBroken(
  document: Document.Parsed,
  broken: readonly YAMLError[],
  where: Pick<Broken, 'text' | 'lines' | 'placeOf'>,
): PlacedError[] {
  const errors: PlacedError[] = [];
  const seen = new Set<number>();
  for (const error of broken.toSorted((a, b) => a.pos[0] - b.pos[0])) {
    const at = where.placeOf(error.pos[0]);
    if (seen.has(at.line)) continue;
    seen.add(at.line);
    const line = where.lines[at.line - 1] ?? '';
    const place = { ...where, error, at, line, openedAt: (offset: number) => openedAt(document, offset) };
    const { outOfStep = false, ...explained } = explainYaml(place);
    if (errors.at(-1)?.line !== explained.line) errors.push(explained);
    if (outOfStep || errors.length === MAX_EXPLAINED) break;
  }
  const tab = errors.findIndex(({ message }) => message.startsWith('a tab '));
  // A file indented by tabs is so throughout, and the other errors result from that.
  return tab === -1
    ? errors
    : errors.filter(({ message }, index) => index < tab || message.startsWith('a tab '));
}

/** Finds git's conflict markers. Reports each conflict once. */
function mergeConflicts(lines: readonly string[]): PlacedError[] {
  const message =
    'a merge stopped here: keep one of the two sides, and remove the lines with <<<<<<<, ======= and >>>>>>>';
  const found = lines.flatMap((line, index) => {
    const [, marker] = /^(<{7}|\|{7}|={7}|>{7})(?: |\r?$)/.exec(line) ?? [];
    return marker === undefined ? [] : [{ marker, line: index + 1, column: 1, message }];
  });
  const begins = found.filter(({ marker }) => marker.startsWith('<'));
  return (begins.length > 0 ? begins : found.slice(0, 1)).map(({ marker: _, ...error }) => error);
}

/**
 * Finds keys that are glued to their values, which YAML reads as one key: `orders:{ user: 20/5s }` has the key `orders:{ user`. Any
 * other message about such a key would mislead.
 */
function gluedKeys(
  document: Document.Parsed,
  lines: readonly string[],
  placeOf: (offset: number) => Position,
): PlacedError[] {
  const errors: PlacedError[] = [];
  eachMap(document.contents, ({ items }) => {
    for (const { key } of items) {
      if (!isScalar(key) || key.type !== 'PLAIN' || !isGlued(String(key.value))) continue;
      const at = placeOf(key.range[0]);
      const error = explainGlued({ line: lines[at.line - 1] ?? '', at });
      if (error !== null) errors.push(error);
    }
  });
  return errors;
}

/** Visits maps from the outside in: five times as fast as `visit` of yaml, which copies the path to each node. */
function eachMap(
  node: ParsedNode | null,
  run: (map: YAMLMap.Parsed, isInList: boolean) => void,
  isInList = false,
): void {
  if (isSeq<ParsedNode>(node)) for (const item of node.items) eachMap(item, run, true);
  if (!isMap<ParsedNode, ParsedNode | null>(node)) return;
  run(node as YAMLMap.Parsed, isInList);
  for (const { value } of node.items) eachMap(value, run);
}

function doubledKeys(
  document: Document.Parsed,
  placeOf: (offset: number) => Position,
  secrets: SecretLines,
): PlacedError[] {
  const errors: PlacedError[] = [];
  eachMap(document.contents, ({ items }, isInList) => {
    const first = new Map<string, number>();
    for (const { key } of items) {
      if (!isScalar(key)) continue;
      const [name, [offset]] = [String(key.value), key.range];
      const before = first.get(name);
      if (before === undefined) first.set(name, offset);
      else {
        const place = placeOf(offset);
        const message = whyDoubled(secrets.quoteKey(name, place.line), placeOf(before), isInList);
        errors.push({ ...place, message });
      }
    }
  });
  return errors;
}

/** @param name in quotes; `null` if it may be part of a secret */
function whyDoubled(name: string | null, before: Position, inList: boolean): string {
  const key = name === null ? 'this key' : `the key ${name}`;
  const item = inList ? '; a new item of the list begins with "- "' : '';
  return `${key} is already there, in line ${before.line}${item}`;
}

/** Finds the start of the innermost quoted text, list or map in brackets that reaches this offset. */
function openedAt(document: Document.Parsed, offset: number): number | null {
  let found: number | null = null;
  visit(document, {
    Node(_, node) {
      const opens = isCollection(node) ? node.flow : isScalar(node) && node.type?.startsWith('QUOTE');
      const { range } = node;
      if (opens === true && range && range[0] < offset && offset <= range[2]) found = range[0];
    },
  });
  return found;
}
