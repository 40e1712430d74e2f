import type { Broken, PlacedError, YamlExplanation } from './place.ts';

/** Explains the mistakes that people make, with what to write instead; for others it says what the parser found. */
export function explainYaml(broken: Broken): YamlExplanation {
  const { error, at, line } = broken;
  if (/^ *\t/.test(line)) return { line: at.line, column: line.indexOf('\t') + 1, message: TAB };
  const glued = explainGlued(broken);
  if (glued !== null) return { ...glued, outOfStep: true };
  const said = `${error.code} ${error.message}`;
  if (NO_KEY.test(said) || isAssignment(broken)) return explainNoKey(broken);
  if (OFF_INDENT.test(said) || isAnotherRoot(broken)) return explainIndent(broken);
  if (TOO_MUCH.test(said)) return explainNesting(broken);
  const [, mark] = UNCLOSED.exec(said) ?? [];
  if (mark !== undefined) return explainUnclosed(broken, mark);
  const [, message] = MISTAKES.find(([pattern]) => pattern.test(said)) ?? [];
  if (message === undefined) return { ...at, message: parserSays(error.message), outOfStep: true };
  return {
    ...at,
    message: typeof message === 'string' ? message : message(broken),
    outOfStep: !IN_STEP.test(said),
  };
}

/** What the parser found, without what it quotes of the file: that may be a secret. */
function parserSays(message: string): string {
  return `this is not valid YAML: ${message.replace(/(?<=\S)(:|\\).*$/s, '')}`;
}

const TAB = 'a tab indents this line: use spaces';
const COMMA =
  'inside { } and [ ] a comma separates the entries, and a value with ": " in it must be in quotes';
const IN_QUOTES = 'inside { } or [ ] a value with braces or brackets of its own must be in quotes';
const TEMPLATE =
  '"{{" belongs to a template that nothing has filled in: fill it in first, or put the value in quotes';
const SPACE = 'write a space after this ":"';

// Patterns for the code of a parser's error and its words.

const NO_KEY = /^MULTILINE_IMPLICIT_KEY|Implicit map keys/;
const OFF_INDENT = /^BAD_INDENT (?!.*end with a)|Sequence item without/;
const TOO_MUCH = /^BLOCK_AS_IMPLICIT_KEY Nested/;
const UNCLOSED = /(?:Missing closing |end with a )(["'}\]])/;
/** Errors after which the parser reads the next line as intended. */
const IN_STEP = /^(TAB|BAD_ALIAS|BAD_SCALAR_START|BAD_DQ_ESCAPE)/;

const MISTAKES: readonly (readonly [RegExp, string | ((broken: Broken) => string)])[] = [
  [/^TAB_AS_INDENT/, TAB],
  [/^MULTIPLE_DOCS/, 'a second YAML document starts here: a file has only one, remove the "---"'],
  [/^BAD_DIRECTIVE/, 'a line that starts with "%" is a YAML directive: remove it'],
  [/^BAD_DQ_ESCAPE/, 'inside double quotes a "\\" begins an escape: use single quotes, or write "\\\\"'],
  [/^(BAD_ALIAS|BAD_SCALAR_START)/, mustBeQuoted],
  [/^NON_STRING_KEY/, ({ line }) => (line.includes('{{') ? TEMPLATE : mustBeText(line))],
  [/^BLOCK_AS_IMPLICIT_KEY/, 'this list item is among keys: indent it below the key it belongs to'],
  [/same line with key$/, 'start the list on the next line, or write it here as [a, b]'],
  [/Unexpected , in flow/, 'there is no entry before this comma: remove it'],
  [/Unexpected flow-(map|seq)-end/, 'this bracket closes nothing: remove it'],
  [/^BLOCK_IN_FLOW|^UNEXPECTED_TOKEN .* token$/, COMMA],
  [
    /^MISSING_CHAR .* flow /,
    ({ error, text }) => (/[[{]/.test(text[error.pos[0]] ?? '') ? IN_QUOTES : COMMA),
  ],
  [/at node end$/, behindValue],
];

/** Explains a value or a line that starts with a character that YAML reserves. */
function mustBeQuoted({ error, text, line }: Broken): string {
  const begin = text.slice(error.pos[0], error.pos[0] + 2);
  const first = error.code === 'BAD_ALIAS' ? (/[*&]/.exec(begin)?.[0] ?? '*') : begin.charAt(0);
  if (/^\s*\*\S*\s*:/.test(line)) return mustBeText(line);
  const message = `a value that starts with "${first}" must be in quotes`;
  return first === '*' ? `${message}; for everything write any, and for every path /**` : message;
}

function mustBeText(line: string): string {
  return /^\s*\*/.test(line)
    ? 'a line that begins with a star must be in quotes'
    : 'a key must be plain text';
}

function endBefore({ error, text }: Broken): string {
  return text.slice(0, error.pos[0]).trimEnd().at(-1) ?? '';
}

/** Whether a line after the end of the file's value is like one of a TOML or environment file. */
function isAssignment({ error, line }: Broken): boolean {
  return /at node end$/.test(error.message) && /^\s*[\w.-]+\s*=/.test(line);
}

/** Whether a line is no part of the file's value because of its indent. */
function isAnotherRoot(broken: Broken): boolean {
  const isFirst = broken.line.slice(0, broken.at.column - 1).trim() === '';
  return isFirst && /at node end$/.test(broken.error.message) && !/["'}\]]/.test(endBefore(broken));
}

function behindValue(broken: Broken): string {
  const { error, text } = broken;
  const end = endBefore(broken);
  if (/[[{]/.test(text[error.pos[0]] ?? '')) return IN_QUOTES;
  if (!/["'}\]]/.test(end)) return parserSays(error.message);
  const doubled = end === "'" ? ", write '' for a ' in it" : '';
  return `the value ended with the ${end} before this: remove what follows${doubled}, or put the whole value in quotes`;
}

/** Explains a line that should be `key: value` but is not. */
function explainNoKey({ line, at }: Broken): YamlExplanation {
  const blank = falseBlankIn(line);
  if (blank !== null) return { line: at.line, column: blank.index + 1, message: blank.message };
  for (const [pattern, message] of NEARLY) {
    const before = pattern.exec(line)?.[0];
    if (before !== undefined) return { line: at.line, column: before.length, message };
  }
  return {
    line: at.line,
    column: depthOf(line) + 1,
    message: 'this line is neither "key: value" nor "- item"',
  };
}

/** Near misses: each pattern matches up to the wrong character. */
const NEARLY: readonly (readonly [RegExp, string])[] = [
  [/^.*?\{\{/, TEMPLATE],
  [/^\s*-(?=[^\s-])/, 'write a space after this "-"'],
  [/^[^:]*?：/, 'this colon (U+FF1A) is not an ASCII ":": type ":" and a space'],
  [/^[^=]*[^=\s:/]:(?=[^\s/])/, SPACE],
  [/^\s*[\w.-]+\s*=/, 'write ":" and a space in place of this "="'],
];

/** A key such as `orders:{ user`, which results from a missing space. */
const GLUED = /^[\w.-]+:(?=[{["'])/;

/** Explains a line in which a value follows its key without a space; `null` for any other line. */
export function explainGlued({ line, at }: Pick<Broken, 'line' | 'at'>): PlacedError | null {
  const [, before = '', code = ''] = /^(\s*(?:-\s+)?)(.*)$/.exec(line) ?? [];
  const key = GLUED.exec(code)?.[0];
  if (key === undefined) return null;
  return { line: at.line, column: before.length + key.length, message: SPACE };
}

/** Whether YAML reads a key and the beginning of its value as one key, because there is no space between them. */
export function isGlued(key: string): boolean {
  return GLUED.test(key);
}

/** Explains a line whose indent matches no line above it. The parser may point at a comment before that line. */
function explainIndent({ lines, at }: Broken): YamlExplanation {
  const index = lines.findIndex((other, i) => i >= at.line - 1 && isCode(other));
  const line = lines[index] ?? '';
  const depth = depthOf(line);
  const above = lines.slice(0, index).findLast(other => isCode(other) && depthOf(other) <= depth) ?? '';
  const place = { line: index + 1, column: depth + 1, outOfStep: true };
  if (depthOf(above) !== depth || !/^\s*-(\s|$)/.test(above)) return { ...place, message: unmatched(depth) };
  if (/^\s*-\S/.test(line)) return { ...place, message: 'write a space after this "-"' };
  const message =
    'this key is among list items: write "- " before it, or indent it to belong to the item above';
  return { ...place, message };
}

function unmatched(depth: number): string {
  return `this line is indented by ${depth}, which matches no line above it: indent it like the keys next to it`;
}

/** Explains a second ":" in one line, or a line indented further than the value above it allows. */
function explainNesting({ lines, line, at }: Broken): YamlExplanation {
  const rest = line.slice(at.column - 1).replace(/\s#.*$/, '');
  if (/:(\s|$)/.test(rest)) return { ...at, message: 'a value with ": " in it must be in quotes' };
  const below = lines.findIndex((other, index) => index >= at.line && isCode(other));
  const depth = depthOf(lines[below] ?? '');
  return { line: below + 1, column: depth + 1, message: unmatched(depth) };
}

/** Explains a quote, brace or bracket without an end. Points at where it opens. */
function explainUnclosed({ error, at, placeOf, openedAt }: Broken, close: string): YamlExplanation {
  const begin = openedAt(error.pos[0]);
  const place = begin === null ? at : placeOf(begin);
  const isQuote = /["']/.test(close);
  const what = isQuote ? 'the quote that opens here' : `this "${close === '}' ? '{' : '['}"`;
  const message = `${what} is not closed: write ${isQuote ? close : `"${close}"`} at its end`;
  return { ...place, message, outOfStep: true };
}

function depthOf(line: string): number {
  return Math.max(0, line.search(/\S/));
}

/** Whether a line is neither empty, nor a comment, nor the start of a document. */
function isCode(line: string): boolean {
  return /^\s*[^\s#]/.test(line) && !line.startsWith('---');
}

/** Control characters other than tabs and line ends, Unicode line ends, and code points that are not characters. */
const ODD = /[\x00-\x08\v\f\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]|\r(?!\n)|(?<!^)\ufeff/;

/** Characters that look like a space, or like nothing. Text copied from a web page often contains them. */
const BLANKS = /[\u00a0\u1680\u2000-\u200f\u202f\u205f\u2060\u3000]/;

/** Finds the first character that no configuration contains. The parser would make it part of a value. */
export function oddCharacterIn(text: string): PlacedError[] {
  const found = ODD.exec(text);
  if (found === null) return [];
  const before = text.slice(0, found.index).split('\n');
  const message = found[0].startsWith('\r')
    ? 'a carriage return without a line feed: save the file with LF, or CRLF, as line ends'
    : `the character ${nameOf(found[0])} does not belong in a text file: is this the right file?`;
  return [{ line: before.length, column: (before.at(-1)?.length ?? 0) + 1, message }];
}

/** Finds a character that only looks like a space; null if there is no such character. */
export function falseBlankIn(text: string): { readonly index: number; readonly message: string } | null {
  const found = BLANKS.exec(text);
  if (found === null) return null;
  return {
    index: found.index,
    message: `${nameOf(found[0])} looks like a space but is not one: type a space`,
  };
}

function nameOf(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}
