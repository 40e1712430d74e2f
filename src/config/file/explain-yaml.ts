import { type Broken, type PlacedError, type Position, UNREADABLE, type YamlExplanation } from './place.ts';

/** Explains what the operator did wrong and what to write instead; the parser only reports what it found. */
export function explainYaml(broken: Broken): YamlExplanation {
  const { error, at, line } = broken;
  if (/^ *\t/.test(line)) return { line: at.line, column: line.indexOf('\t') + 1, message: TAB };
  const glued = explainGlued(broken);
  if (glued !== null) return { ...glued, outOfStep: true };
  switch (error.code) {
    case 'BLOCK_AS_IMPLICIT_KEY':
      return explainNesting(broken);
    case 'MULTILINE_IMPLICIT_KEY':
      return explainNoKey(broken);
    case 'BAD_INDENT':
      return /end with a/.test(error.message) ? explainUnclosed(broken) : explainIndent(broken);
    case 'MISSING_CHAR':
      if (/^Implicit map keys/.test(error.message)) return explainNoKey(broken);
      return /^Sequence item/.test(error.message) ? explainIndent(broken) : explainMissingMark(broken);
    case 'UNEXPECTED_TOKEN':
      return explainUnexpected(broken);
    case 'NON_STRING_KEY':
      if (line.includes('{{')) return stray(at, TEMPLATE);
      return starredLine(broken) ?? { ...at, message: 'a key must be plain text' };
    case 'BAD_ALIAS':
    case 'BAD_SCALAR_START':
      return starredLine(broken) ?? { ...at, message: mustBeQuoted(broken) };
    default:
      return {
        ...at,
        message: MESSAGES[error.code] ?? UNREADABLE,
        outOfStep: error.code === 'BAD_DIRECTIVE',
      };
  }
}

const TAB = 'a tab indents this line: use spaces';

const COMMA =
  'inside { } and [ ] a comma separates the entries, and a value with ": " in it must be in quotes';

const MESSAGES: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: TAB,
  MULTIPLE_DOCS: 'a second YAML document starts here: a file has only one, remove the "---"',
  BAD_DIRECTIVE: 'a line that starts with "%" is a YAML directive: remove it',
  BAD_DQ_ESCAPE: 'inside double quotes a "\\" begins an escape: use single quotes, or write "\\\\"',
  KEY_OVER_1024_CHARS: 'a key has at most 1024 characters',
  BLOCK_IN_FLOW: COMMA,
};

/** Explains a value that starts with a character that YAML reserves. */
function mustBeQuoted({ error, text }: Broken): string {
  const begin = text.slice(error.pos[0], error.pos[0] + 2);
  const first = error.code === 'BAD_ALIAS' ? (/[*&]/.exec(begin)?.[0] ?? '*') : begin.charAt(0);
  const message = `a value that starts with "${first}" must be in quotes`;
  return first === '*' ? `${message}; for everything write any, and for every path /**` : message;
}

/** Explains a line of limits.yaml that begins with a star: YAML reads an alias. Returns `null` for any other line. */
function starredLine({ line, at }: Broken): YamlExplanation | null {
  const [, key] = /^\s*(\*\.[^\s:]+)\s*:(?:\s|$)/.exec(line) ?? [];
  if (key === undefined) return null;
  const message = `a line that begins with a star must be in quotes: write "${key}"`;
  return { line: at.line, column: line.indexOf('*') + 1, message };
}

const TEMPLATE =
  '"{{" belongs to a template that nothing has filled in: fill it in first, or put the value in quotes';

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

const SPACE = 'write a space after this ":"';

/** Near misses: each pattern matches up to the wrong character. */
const NEARLY: readonly (readonly [RegExp, string])[] = [
  [/^.*?\{\{/, TEMPLATE],
  [/^\s*'(?=[^']*$)/, "the quote that opens here is not closed: write ' at its end"],
  [/^\s*"(?=[^"]*$)/, 'the quote that opens here is not closed: write " at its end'],
  [/^\s*\{(?=[^}]*$)/, 'this "{" is not closed: write "}" at its end'],
  [/^\s*-(?=[^\s-])/, 'write a space after this "-"'],
  [/^[^:]*?：/, 'this colon (U+FF1A) is not an ASCII ":": type ":" and a space'],
  [/^[^=]*[^=\s:/]:(?=[^\s/])/, SPACE],
  [/^\s*[\w.-]+\s*=/, 'write ":" and a space in place of this "="'],
];

/** Explains a line whose indent matches no line above it. The parser may point at a comment before that line. */
function explainIndent({ lines, at }: Pick<Broken, 'lines' | 'at'>): YamlExplanation {
  const index = lines.findIndex((other, i) => i >= at.line - 1 && isCode(other));
  const line = lines[index] ?? '';
  const depth = depthOf(line);
  const above = lines.slice(0, index).findLast(other => isCode(other) && depthOf(other) <= depth) ?? '';
  const amongItems = depthOf(above) === depth && /^\s*-(\s|$)/.test(above);
  const message = whyIndented(depth, amongItems, line);
  return { line: index + 1, column: depth + 1, message, outOfStep: amongItems };
}

/** Explains a line indented more or less than the first key of the file. */
function explainTopIndent({ lines, line, at }: Broken): YamlExplanation {
  const [depth, first] = [depthOf(line), depthOf(lines.find(isCode) ?? '')];
  if (depth === first) return { ...explainIndent({ lines, at }), outOfStep: true };
  const message = `this line is indented by ${depth} and the first line of the file by ${first}: align the top-level keys`;
  return { line: at.line, column: depth + 1, message, outOfStep: true };
}

function whyIndented(depth: number, amongItems: boolean, line: string): string {
  if (!amongItems)
    return `this line is indented by ${depth}, which matches no line above it: indent it like the keys next to it`;
  if (/^\s*-\S/.test(line)) return 'write a space after this "-"';
  return 'this key is among list items: write "- " before it, or indent it to belong to the item above';
}

/** Explains a second ":" in one line, or a line indented further than the value above it allows. */
function explainNesting({ error, lines, line, at }: Broken): YamlExplanation {
  if (/block sequence/.test(error.message))
    return { ...at, message: 'this list item is among keys: indent it below the key it belongs to' };
  const rest = line.slice(at.column - 1).replace(/\s#.*$/, '');
  if (/:(\s|$)/.test(rest)) return { ...at, message: 'a value with ": " in it must be in quotes' };
  const below = lines.findIndex((other, index) => index >= at.line && isCode(other));
  if (below === -1) return { ...at, message: UNREADABLE };
  const message = `this line is indented further than the value in line ${at.line} allows: indent it like the keys next to it`;
  return { line: below + 1, column: depthOf(lines[below] ?? '') + 1, message };
}

function depthOf(line: string): number {
  return Math.max(0, line.search(/\S/));
}

/** Whether a line is neither empty, nor a comment, nor the start of a document. */
function isCode(line: string): boolean {
  return /^\s*[^\s#]/.test(line) && !line.startsWith('---');
}

const IN_QUOTES = 'inside { } or [ ] a value with braces or brackets of its own must be in quotes';

/** Explains an unclosed brace or bracket. Points at the opening one. */
function explainUnclosed({ lines, at }: Broken): YamlExplanation {
  const opener = openerBefore(lines, at);
  const line = (lines[opener.line - 1] ?? '').slice(opener.column - 1);
  const [open, close] = line.startsWith('[') ? ['[', ']'] : ['{', '}'];
  const why = /\s#.*[}\]]/.test(line) ? '; everything after " #" is a comment' : '';
  return stray(opener, `this "${open}" is not closed: write "${close}" at its end${why}`);
}

/** Finds the last brace or bracket before `end` that is not closed. Ignores comments. */
function openerBefore(lines: readonly string[], end: Position): Position {
  let depth = 0;
  for (let line = end.line; line > 0; line--) {
    const text = (lines[line - 1] ?? '').slice(0, line === end.line ? end.column - 1 : undefined);
    const code = text.replace(/(^|\s)#.*$/, '');
    for (let i = code.length - 1; i >= 0; i--) {
      const character = code[i] ?? '';
      if (character === '}' || character === ']') depth++;
      else if ((character === '{' || character === '[') && depth-- === 0) return { line, column: i + 1 };
    }
  }
  return end;
}

/** Explains a missing quote at the end of a text, or a missing comma between two entries. */
function explainMissingMark({ error, text, at, placeOf, quoteAt }: Broken): YamlExplanation {
  const [offset] = error.pos;
  const [, quote] = /^Missing closing (["'])/.exec(error.message) ?? [];
  if (quote !== undefined) {
    const begin = quoteAt(offset);
    const place = begin === null ? at : placeOf(begin);
    return stray(place, `the quote that opens here is not closed: write ${quote} at its end`);
  }
  if (!/ flow /.test(error.message)) return { ...at, message: UNREADABLE };
  return stray(at, /[[{]/.test(text[offset] ?? '') ? IN_QUOTES : COMMA);
}

/** Explains a token that may not be there. */
function explainUnexpected(broken: Broken): YamlExplanation {
  const { error, text, at } = broken;
  const mark = text[error.pos[0]] ?? '';
  if (/ at node end$/.test(error.message)) return explainBehindValue(broken, mark);
  return { ...at, ...whyUnexpected(error.message, mark) };
}

function whyUnexpected(said: string, mark: string): { message: string; outOfStep?: boolean } {
  if (/ in flow /.test(said) && mark === ',')
    return { message: 'there is no entry before this comma: remove it' };
  if (/ token$/.test(said)) return { message: COMMA, outOfStep: true };
  if (/same line with key$/.test(said))
    return { message: 'start the list on the next line, or write it here as [a, b]' };
  if (/YAML token|scalar header/.test(said))
    return { message: 'a value that starts with "|" or ">" must be in quotes' };
  if (mark === '}' || mark === ']')
    return { message: `this "${mark}" closes nothing: remove it`, outOfStep: true };
  return { message: UNREADABLE, outOfStep: true };
}

/** Explains text after the end of a value. */
function explainBehindValue(broken: Broken, mark: string): YamlExplanation {
  const { error, text, at, line } = broken;
  const startsLine = line.slice(0, at.column - 1).trim() === '';
  if (startsLine && /^\s*[\w.-]+\s*=/.test(line)) return { ...explainNoKey(broken), outOfStep: true };
  const end = text.slice(0, error.pos[0]).trimEnd().at(-1) ?? '';
  if (/[[{]/.test(mark)) return stray(at, IN_QUOTES);
  if (end === '"' || end === "'") {
    const doubled = end === "'" ? ", or write '' for a ' in it" : '';
    return stray(at, `the value ended with the ${end} before this: remove what follows${doubled}`);
  }
  if (end === '}' || end === ']') {
    const message = `the value ended with the "${end}" before this: put the whole value in quotes, or remove what follows`;
    return stray(at, message);
  }
  return startsLine ? explainTopIndent(broken) : stray(at, UNREADABLE);
}

/** A mistake after which the following lines cannot be read as intended. */
function stray(place: Position, message: string): YamlExplanation {
  return { ...place, message, outOfStep: true };
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
