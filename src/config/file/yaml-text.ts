import {
  type Document,
  type ErrorCode,
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
import { falseBlankIn, oddCharacterIn } from './odd-characters.ts';
import type { PlacedError, Position } from './place.ts';
import { SecretLines } from './secret-lines.ts';

export interface YamlText {
  /** The parsed text; `null` if it is so broken that further messages would be misleading. */
  readonly document: Document.Parsed | null;
  readonly errors: readonly PlacedError[];
  /** Knows which parts of the text messages may repeat. */
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
  const errors = yamlErrors(document, text, placeOf, secrets);
  return { document: document.errors.length === 0 ? document : null, errors, secrets, placeOf };
}

/** Finds the first error of the parser, or else all duplicate keys, which do not break the tree. */
function yamlErrors(
  document: Document.Parsed,
  text: string,
  placeOf: (offset: number) => Position,
  secrets: SecretLines,
): PlacedError[] {
  // A warning means that something is not what it seems. Warnings about tags are left out: building the tree reports those.
  const broken = [...document.errors, ...document.warnings].filter(
    ({ code }) => code !== 'TAG_RESOLVE_FAILED',
  );
  // Report only the first error: most others follow from it.
  const [first] = broken.toSorted((a, b) => a.pos[0] - b.pos[0]);
  return first === undefined
    ? doubledKeys(document, placeOf, secrets)
    : [explained(document, first, text, placeOf)];
}

/** The parser's message without its quotes from the file, which may contain a secret. */
function explained(
  document: Document.Parsed,
  { code, message, pos }: YAMLError,
  text: string,
  placeOf: (offset: number) => Position,
): PlacedError {
  const isOpen = /^Missing closing ["']/.test(message);
  // An unclosed quote extends to the end of the file: report the place where the last quoted text begins.
  const at = placeOf(isOpen && pos[0] >= text.length ? lastQuoteIn(document, pos[0]) : pos[0]);
  if (isOpen) return { ...at, message: 'a quote is not closed' };
  const line = text.split('\n')[at.line - 1] ?? '';
  const blank = falseBlankIn(line);
  if (blank !== null && /^MULTILINE_IMPLICIT_KEY|Implicit map keys/.test(`${code} ${message}`))
    return { line: at.line, column: blank.index + 1, message: blank.message };
  if (/^ *\t/.test(line))
    return { line: at.line, column: line.indexOf('\t') + 1, message: 'a tab indents this line: use spaces' };
  const said = message.replace(/(?<=\S):.*$|\s*\\.*$/s, '');
  return { ...at, message: IN_OUR_WORDS[code] ?? `this is not valid YAML: ${said}` };
}

/** Where the last text in quotes begins; `end` if there is none. */
function lastQuoteIn(document: Document.Parsed, end: number): number {
  let found = end;
  visit(document, {
    Scalar(_, { type, range }) {
      if (type?.startsWith('QUOTE') && range) found = range[0];
    },
  });
  return found;
}

/** Replaces parser messages that only programmers understand, or that repeat a part of the file. */
const IN_OUR_WORDS: Partial<Record<ErrorCode, string>> = {
  BAD_DIRECTIVE: 'a line that starts with "%" is a YAML directive: remove it',
  MULTIPLE_DOCS: 'a second YAML document starts here: a file has only one, remove the "---"',
  NON_STRING_KEY: 'a key must be plain text: put what begins with {, [ or * in quotes',
  RESOURCE_EXHAUSTION: 'nested too deeply',
};

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
