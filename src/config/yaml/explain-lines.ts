import { type Broken, type Explanation, UNREADABLE } from './broken.ts';
import { falseBlankIn } from './odd-characters.ts';
import type { PlacedError } from './place.ts';

export const TEMPLATE =
  '"{{" belongs to a template that nothing has filled in: fill it in first, or put the value in quotes';

/** Explains a line that should be `key: value` and is not. */
export function explainNoKey({ line, at }: Broken): Explanation {
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

/** A key such as `orders:{ user` that YAML reads where a space is missing. */
const GLUED = /^[\w.-]+:(?=[{["'])/;

/** Explains a line in which a value follows its key without a space; null: it is none. */
export function explainGlued({ line, at }: Pick<Broken, 'line' | 'at'>): PlacedError | null {
  const [, before = '', code = ''] = /^(\s*(?:-\s+)?)(.*)$/.exec(line) ?? [];
  const key = GLUED.exec(code)?.[0];
  if (key === undefined) return null;
  return { line: at.line, column: before.length + key.length, message: SPACE };
}

/** Whether a plain text that stands as a key is a key and the begin of its value. */
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
export function explainIndent({ lines, at }: Pick<Broken, 'lines' | 'at'>): Explanation {
  const index = lines.findIndex((other, i) => i >= at.line - 1 && isCode(other));
  const line = lines[index] ?? '';
  const depth = depthOf(line);
  const above = lines.slice(0, index).findLast(other => isCode(other) && depthOf(other) <= depth) ?? '';
  const amongItems = depthOf(above) === depth && /^\s*-(\s|$)/.test(above);
  const message = whyIndented(depth, amongItems, line);
  return { line: index + 1, column: depth + 1, message, outOfStep: amongItems };
}

/** Explains a line indented more or less than the first key of the file. */
export function explainTopIndent({ lines, line, at }: Broken): Explanation {
  const [depth, first] = [depthOf(line), depthOf(lines.find(isCode) ?? '')];
  if (depth === first) return { ...explainIndent({ lines, at }), outOfStep: true };
  const message = `this line is indented by ${depth} and the first line of the file by ${first}: align the top-level keys`;
  return { line: at.line, column: depth + 1, message, outOfStep: true };
}

function whyIndented(depth: number, amongItems: boolean, line: string): string {
  if (!amongItems)
    return `this line is indented by ${depth}, which matches no line above it: indent it like the keys beside it`;
  if (/^\s*-\S/.test(line)) return 'write a space after this "-"';
  return 'this key is among list items: write "- " before it, or indent it to belong to the item above';
}

/** Explains a second ":" in one line, or a line indented further than the value above it allows. */
export function explainNesting({ error, lines, line, at }: Broken): Explanation {
  if (/block sequence/.test(error.message))
    return { ...at, message: 'this list item is among keys: indent it below the key it belongs to' };
  const rest = line.slice(at.column - 1).replace(/\s#.*$/, '');
  if (/:(\s|$)/.test(rest)) return { ...at, message: 'a value with ": " in it must be in quotes' };
  const below = lines.findIndex((other, index) => index >= at.line && isCode(other));
  if (below === -1) return { ...at, message: UNREADABLE };
  const message = `this line is indented further than the value in line ${at.line} allows: indent it like the keys beside it`;
  return { line: below + 1, column: depthOf(lines[below] ?? '') + 1, message };
}

function depthOf(line: string): number {
  return Math.max(0, line.search(/\S/));
}

/** Whether a line is neither empty, nor a comment, nor the start of a document. */
function isCode(line: string): boolean {
  return /^\s*[^\s#]/.test(line) && !line.startsWith('---');
}
