import {
  type Document,
  type ErrorCode,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
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

/** The parser's message in our words, without its quotes from the file, which may contain a secret. */
function explained(
  document: Document.Parsed,
  { code, message, pos }: YAMLError,
  text: string,
  placeOf: (offset: number) => Position,
): PlacedError {
  const isQuote = /^Missing closing ["']/.test(message);
  const isOpen = /^Flow .* end with a .$/.test(message);
  const begin = isQuote || isOpen ? startOf(document, pos[0], text, isQuote) : pos[0];
  // A key in quotes that has no end takes the next lines with it.
  if (isQuote || (code === 'MULTILINE_IMPLICIT_KEY' && /["']/.test(text[begin] ?? '')))
    return { ...placeOf(begin), message: 'a quote is not closed' };
  const at = placeOf(pos[0]);
  const lines = text.split('\n');
  const line = lines[at.line - 1] ?? '';
  const blank = falseBlankIn(line);
  if (blank !== null && /^MULTILINE_IMPLICIT_KEY|Implicit map keys/.test(`${code} ${message}`))
    return { line: at.line, column: blank.index + 1, message: blank.message };
  // The parser names the line of a key where the next one is indented in a wrong way.
  const indented = code === 'BLOCK_AS_IMPLICIT_KEY' ? at.line + 1 : at.line;
  const [tabbed] = /^ *\t/.exec(lines[indented - 1] ?? '') ?? [];
  if (tabbed !== undefined)
    return { line: indented, column: tabbed.length, message: 'a tab indents this line: use spaces' };
  if (isOpen) return { ...placeOf(begin), message: `${INVALID}${whyOpen(text, begin, pos[0], placeOf)}` };
  const [glued] = KEY_AND_BRACKET.exec(line) ?? [];
  if (glued !== undefined)
    return { line: at.line, column: glued.length + 1, message: `${INVALID}a space is missing after ":"` };
  const said = message.replace(/(?<=\S):.*$|\s*\\.*$/s, '');
  const isIndented = line.slice(0, at.column - 1).trim() === '' && /at node end$/.test(said);
  const words = isIndented
    ? INDENT
    : IN_OUR_WORDS.reduce((all, [theirs, ours]) => all.replace(theirs, ours), said);
  return { ...at, message: OF_CODE[code] ?? `${INVALID}${words}` };
}

const INVALID = 'this is not valid YAML: ';

/** A key whose ":" a bracket follows at once, so that it is no key. */
const KEY_AND_BRACKET = /^[^:"']*:(?=[[{])/;

/** Where the innermost quotes or brackets begin that end at an offset without their end; the offset itself if there are none. */
function startOf(document: Document.Parsed, end: number, text: string, isQuote: boolean): number {
  const found: number[] = [];
  const isOfKind = (node: Node, begin: string) =>
    isQuote
      ? isScalar(node) && node.type?.startsWith('QUOTE') === true
      : isCollection(node) && node.flow === true && /[[{]/.test(begin);
  visit(document, {
    Node(_, node) {
      const [from = 0, to] = node.range ?? [];
      if (to === end && isOfKind(node, text[from] ?? '')) found.push(from);
    },
  });
  // What just ended with a bracket is not open: the one around it is.
  const isClosed = !isQuote && /[\]}]/.test(text[end - 1] ?? '');
  return found.at(isClosed && found.length > 1 ? -2 : -1) ?? end;
}

/** Why brackets are open at an offset: nothing ends them, or a bracket of the other kind is there. */
function whyOpen(text: string, begin: number, end: number, placeOf: (offset: number) => Position): string {
  const [opening, ending] = text[begin] === '{' ? '{}' : '[]';
  const next = /\S/g;
  next.lastIndex = end;
  const { 0: found = '', index = end } = next.exec(text) ?? {};
  if (/[\]}]/.test(found))
    return `a bracket is missing or wrong between the "${opening}" here and the "${found}" in line ${placeOf(index).line}`;
  // More lines were to come: they may be there, but not further in than the key.
  const rest = /[[{,]\s*$/.test(text.slice(begin, end)) ? ', and indent all lines up to it' : '';
  return `the "${opening}" here is never closed, write "${ending}" at its end${rest}`;
}

const INDENT = 'indent this line like the others of its map, or begin it with "- " like those of its list';

/** What the parser says to programmers, in words that say what to write. */
const IN_OUR_WORDS: readonly (readonly [theirs: RegExp, ours: string])[] = [
  [
    /^Unexpected flow-(map|seq)-end token .*$/,
    'nothing opens this bracket, or a space is missing before what does',
  ],
  [
    /^Block collections .*$/,
    'in brackets separate items by ",", and write lists and maps there in brackets as well',
  ],
  [/^Missing , or : between flow map .*$/, 'a "," or a ":" is missing here'],
  [/^Missing (,|, or :) between .*$/, 'a "," is missing here'],
  [/^Comments must .*$/, 'a space is missing before "#"'],
  [/^Unexpected (,|empty item) in flow .*$/, 'there is one "," too many here'],
  [
    /^Unexpected (\S*scalar|flow-(map|seq)-start) at node end$/,
    'the value ended before this, put all of it in quotes, or in brackets a "," before this',
  ],
  [/^Unexpected block-seq-ind on .*$/, 'a list begins in a new line below its key'],
  [
    /^Implicit (map )?keys (of .* )?need .*$/,
    'a key is followed by ":" and a space in its own line, and in brackets "," comes before it',
  ],
  [/^Nested .*$/, 'put a value with ": " in it in quotes, and indent the next key like this one'],
  [/^(All .* same column|Sequence item without .*|A block sequence .* key)$/, INDENT],
  [/^Plain value cannot start with .* (\S)$/, 'put a value that begins with "$1" in quotes'],
  [/^Alias .*$/, 'put what begins with "*" in quotes'],
  [
    /^(Not a YAML token|Block scalar header .*)$/,
    'put what begins with ">" or "|" in quotes, or its text in new lines',
  ],
  [/^Invalid escape .*$/, 'in double quotes "\\" begins an escape, write "\\\\" or single quotes'],
  [/^Tabs are .*$/, 'there is a tab here, use spaces'],
];

/** Replaces parser messages that repeat a part of the file, or that have one cause. */
const OF_CODE: Partial<Record<ErrorCode, string>> = {
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
