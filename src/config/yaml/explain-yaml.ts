import { type Broken, type Explanation, UNREADABLE } from './broken.ts';
import { explainGlued, explainIndent, explainNesting, explainNoKey, TEMPLATE } from './explain-lines.ts';
import { explainMissingMark, explainUnclosed, explainUnexpected } from './explain-marks.ts';

/** Explains what the operator did wrong and what to write instead; the parser only says what it found. */
export function explainYaml(broken: Broken): Explanation {
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
      if (line.includes('{{')) return { ...at, message: TEMPLATE, outOfStep: true };
      return { ...at, message: 'a key must be plain text' };
    case 'BAD_ALIAS':
    case 'BAD_SCALAR_START':
      return { ...at, message: mustBeQuoted(broken) };
    default:
      return {
        ...at,
        message: MESSAGES[error.code] ?? UNREADABLE,
        outOfStep: error.code === 'BAD_DIRECTIVE',
      };
  }
}

const TAB = 'a tab indents this line: use spaces';

const MESSAGES: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: TAB,
  MULTIPLE_DOCS: 'a second YAML document starts here: one file holds one, remove the "---"',
  BAD_DIRECTIVE: 'a line that starts with "%" is a YAML directive: remove it',
  BAD_DQ_ESCAPE: 'inside double quotes a "\\" begins an escape: use single quotes, or write "\\\\"',
  KEY_OVER_1024_CHARS: 'a key has at most 1024 characters',
  BLOCK_IN_FLOW:
    'inside { } and [ ] a comma separates the entries, and a value with ": " in it must be in quotes',
};

/** Explains a value that starts with a character that YAML reserves. */
function mustBeQuoted({ error, text }: Broken): string {
  const begin = text.slice(error.pos[0], error.pos[0] + 2);
  const first = error.code === 'BAD_ALIAS' ? (/[*&]/.exec(begin)?.[0] ?? '*') : begin.charAt(0);
  const message = `a value that starts with "${first}" must be in quotes`;
  return first === '*' ? `${message}; for everything write any, and for every path /**` : message;
}
