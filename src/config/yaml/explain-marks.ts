import { type Broken, type Explanation, UNREADABLE } from './broken.ts';
import { explainNoKey, explainTopIndent } from './explain-lines.ts';
import type { Place } from './place.ts';

const COMMA =
  'inside { } and [ ] a comma separates the entries, and a value with ": " in it must be in quotes';
const IN_QUOTES = 'inside { } or [ ] a value with braces or brackets of its own must be in quotes';

/** Explains an unclosed brace or bracket. Points at the opening one. */
export function explainUnclosed({ lines, at }: Broken): Explanation {
  const opener = openerBefore(lines, at);
  const line = (lines[opener.line - 1] ?? '').slice(opener.column - 1);
  const [open, close] = line.startsWith('[') ? ['[', ']'] : ['{', '}'];
  const why = /\s#.*[}\]]/.test(line) ? '; everything after " #" is a comment' : '';
  return {
    ...opener,
    message: `this "${open}" is not closed: write "${close}" at its end${why}`,
    outOfStep: true,
  };
}

/** Finds the last brace or bracket before `end` that is not closed. Ignores comments. */
function openerBefore(lines: readonly string[], end: Place): Place {
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
export function explainMissingMark({ error, text, at, placeOf, quoteAt }: Broken): Explanation {
  const [offset] = error.pos;
  const [, quote] = /^Missing closing (["'])/.exec(error.message) ?? [];
  if (quote !== undefined) {
    const begin = quoteAt(offset);
    const place = begin === null ? at : placeOf(begin);
    return {
      ...place,
      message: `the quote that opens here is not closed: write ${quote} at its end`,
      outOfStep: true,
    };
  }
  if (!/ flow /.test(error.message)) return { ...at, message: UNREADABLE };
  return { ...at, message: /[[{]/.test(text[offset] ?? '') ? IN_QUOTES : COMMA, outOfStep: true };
}

/** Explains a token that may not be there. */
export function explainUnexpected(broken: Broken): Explanation {
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
    return { message: 'a list begins on a line of its own; on this one write it as [a, b]' };
  if (/YAML token|scalar header/.test(said))
    return { message: 'a value that starts with "|" or ">" must be in quotes' };
  if (mark === '}' || mark === ']')
    return { message: `this "${mark}" closes nothing: remove it`, outOfStep: true };
  return { message: UNREADABLE, outOfStep: true };
}

/** Explains text after a value that has already ended. */
function explainBehindValue(broken: Broken, mark: string): Explanation {
  const { error, text, at, line } = broken;
  const startsLine = line.slice(0, at.column - 1).trim() === '';
  if (startsLine && /^\s*[\w.-]+\s*=/.test(line)) return { ...explainNoKey(broken), outOfStep: true };
  const end = text.slice(0, error.pos[0]).trimEnd().at(-1) ?? '';
  if (/[[{]/.test(mark)) return { ...at, message: IN_QUOTES, outOfStep: true };
  if (end === '"' || end === "'") {
    const doubled = end === "'" ? ", or write '' for a ' in it" : '';
    return {
      ...at,
      message: `the value ended with the ${end} before this: remove what follows${doubled}`,
      outOfStep: true,
    };
  }
  if (end === '}' || end === ']') {
    const message = `the value ended with the "${end}" before this: put the whole value in quotes, or remove what follows`;
    return { ...at, message, outOfStep: true };
  }
  return startsLine ? explainTopIndent(broken) : { ...at, message: UNREADABLE, outOfStep: true };
}
