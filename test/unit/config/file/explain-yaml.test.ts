import { describe, expect, it } from 'vitest';
import { parseYamlText } from '../../../../src/config/file/yaml-text.ts';

function errorsIn(text: string): string[] {
  return parseYamlText(text).errors.map(({ line, column, message }) => `${line}:${column}: ${message}`);
}

const TAB = 'a tab indents this line: use spaces';
const SPACE = 'write a space after this ":"';
const COMMA =
  'inside { } and [ ] a comma separates the entries, and a value with ": " in it must be in quotes';
const IN_QUOTES = 'inside { } or [ ] a value with braces or brackets of its own must be in quotes';
const MERGE =
  'a merge stopped here: keep one of the two sides, and remove the lines with <<<<<<<, ======= and >>>>>>>';
const TEMPLATE =
  '"{{" belongs to a template that nothing has filled in: fill it in first, or put the value in quotes';
const INDENTED = (depth: number) =>
  `this line is indented by ${depth}, which matches no line above it: indent it like the keys next to it`;
const KEY_AMONG_ITEMS =
  'this key is among list items: write "- " before it, or indent it to belong to the item above';

describe('broken YAML is reported with what to write instead', () => {
  it.each<[string, string, string[]]>([
    // Indents.
    ['a key too far in', 'a:\n  b: x\n    c: y\nd: 1\n', [`3:5: ${INDENTED(4)}`]],
    ['a key too far in, behind a comment', 'a:\n  b: x\n  # c\n\n    c: y\n', [`5:5: ${INDENTED(4)}`]],
    ['a key too far in, behind a quoted value', 'a:\n  b: "x"\n    c: y\nd: 1\n', [`3:5: ${INDENTED(4)}`]],
    ['a key too far out', 'a:\n  b: x\n c: y\nd: 1\n', [`3:2: ${INDENTED(1)}`]],
    ['a key of a list item too far out', 'a:\n  - b: x\n   c: y\n', [`3:4: ${INDENTED(3)}`]],
    ['a key of a list item too far in', 'a:\n  - b: x\n      c: y\n', [`3:7: ${INDENTED(6)}`]],
    ['a key among list items', 'a:\n  - b: 1\n  c: 2\n', [`3:3: ${KEY_AMONG_ITEMS}`]],
    ['a key behind a list at the top', '- a\nb: 1\n', [`2:1: ${KEY_AMONG_ITEMS}`]],
    [
      'a list item among keys',
      'a:\n  c: 2\n  - b: 1\n',
      ['3:1: this list item is among keys: indent it below the key it belongs to'],
    ],
    ['a "-" without a space', 'a:\n  - b: 1\n  -c: 2\n', ['3:3: write a space after this "-"']],
    [
      'a key further out than the first of the file',
      '   a:\n  b: x\n  c: y\nd: 1\n',
      [`2:3: ${INDENTED(2)}`],
    ],
    ['a list further out than its first item', '# c\n  - a\n- b\n', [`3:1: ${INDENTED(0)}`]],
    // Keys glued to their values, also where YAML reads something else.
    ['a map without a space before it', 'a:\n  orders.read:{ user: 20/5s }\n', [`2:14: ${SPACE}`]],
    ['a map of several keys, without a space', 'a:\n  b:{ c: 1, d: 2 }\n  e:{ f: 1 }\n', [`2:4: ${SPACE}`]],
    [
      'a map with a quoted value, without a space',
      'u:\n  api:{ url: "http://a" }\nr: 1\n',
      [`2:6: ${SPACE}`],
    ],
    ['a map in a list, without a space', 'r:\n  - t:{ a: 1 }\n', [`2:6: ${SPACE}`]],
    ['a list without a space before it', 'a: 1\nb:[c, d]\n', [`2:2: ${SPACE}`]],
    ['a quoted text without a space before it', 'a:"b: c"\nd: 1\n', [`1:2: ${SPACE}`]],
    // Tabs.
    ['a tab', 'a:\n\tb: 1\n\tc: 1\n', [`2:1: ${TAB}`, `3:1: ${TAB}`]],
    ['a tab behind spaces', 'a:\n  b: 1\n  \tc: 1\n', [`3:3: ${TAB}`]],
    ['tabs in a list', 'a:\n  - b: 1\n\t\tc: 2\nd:\n  - x\n', [`3:1: ${TAB}`]],
    ['a tab behind a "-"', 'a:\n  -\tb: 1\n    c: 2\n', [`2:4: ${TAB}`]],
    ['tabs in braces', 'a: {\n\tb: 1,\n\tc: 2\n}\n', [`2:1: ${TAB}`, `3:1: ${TAB}`]],
    [
      'a error above the first tab',
      'a: @b\nc:\n\td: 1\n',
      ['1:4: a value that starts with "@" must be in quotes', `3:1: ${TAB}`],
    ],
    // A ":" and what is written in its place.
    ['no space after ":"', 'a:\n  b: 1\n  c:x\n  d: 1\n', [`3:4: ${SPACE}`]],
    ['no space after ":", in the last line', 'a:\n  b: 1\n  c:x\n', [`3:4: ${SPACE}`]],
    ['no space after ":" of a quota', 'b:\n  main: id\n  user:20/5s\n', [`3:7: ${SPACE}`]],
    ['no space after ":" of a route', 'r:\n  GET /a: b\n  POST /v1/a:b\n', [`3:13: ${SPACE}`]],
    ['"=" for ":"', 'a: 1\nb = 2\nc: 3\n', ['2:3: write ":" and a space in place of this "="']],
    ['TOML', '[a]\nb = "x"\n', ['2:3: write ":" and a space in place of this "="']],
    [
      'a full-width colon',
      'a: 1\nb：2\nc: 3\n',
      ['2:2: this colon (U+FF1A) is not an ASCII ":": type ":" and a space'],
    ],
    [
      'a no-break space',
      'a: 1\nb:\u00a0x\nc: 3\n',
      ['2:3: U+00A0 looks like a space but is not one: type a space'],
    ],
    ['neither key nor item', 'a: 1\n<html>\nb: 1\n', ['2:1: this line is neither "key: value" nor "- item"']],
    ['": " in a value', 'a: b: c\n', ['1:4: a value with ": " in it must be in quotes']],
    [
      'a list behind its key',
      'a: - b\n',
      ['1:4: start the list on the next line, or write it here as [a, b]'],
    ],
    // Merges and templates.
    ['a merge', 'a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> x\n', [`2:1: ${MERGE}`]],
    [
      'two merges',
      'a: 1\n<<<<<<< HEAD\n=======\nb: 2\n>>>>>>> x\nc: 1\n<<<<<<< HEAD\n=======\n>>>>>>> x\n',
      [`2:1: ${MERGE}`, `7:1: ${MERGE}`],
    ],
    ['half a merge', 'a: 1\n=======\nb: 2\n>>>>>>> x\n', [`2:1: ${MERGE}`]],
    [
      'a merge with Windows line ends',
      'a: 1\r\n<<<<<<< HEAD\r\nb: 1\r\n=======\r\n>>>>>>> x\r\n',
      [`2:1: ${MERGE}`],
    ],
    ['a template', 'a: {{ .Values.x }}\nb: 1\n', [`1:5: ${TEMPLATE}`]],
    ['a template with conditions', '{{- if x }}\na: 1\n{{- end }}\n', [`1:2: ${TEMPLATE}`]],
    // Quotes.
    [
      'a quote without an end',
      'a: "x\nb: 1\n',
      ['1:4: the quote that opens here is not closed: write " at its end'],
    ],
    [
      'a quote that another one ends',
      'a: "x\nb: "y"\n',
      ['1:4: the quote that opens here is not closed: write " at its end'],
    ],
    [
      'a single quote without an end',
      "a: 1\nb: 'x\nc: 1\n",
      ["2:4: the quote that opens here is not closed: write ' at its end"],
    ],
    [
      'a single quote in single quotes',
      "a: 'it's'\n",
      [
        "1:8: the value ended with the ' before this: remove what follows, write '' for a ' in it, or put the whole value in quotes",
      ],
    ],
    [
      'text behind a quote',
      'a: "x" y\n',
      ['1:8: the value ended with the " before this: remove what follows, or put the whole value in quotes'],
    ],
    [
      'an escape that is none',
      'a: "\\d"\n',
      ['1:5: inside double quotes a "\\" begins an escape: use single quotes, or write "\\\\"'],
    ],
    // Braces and brackets.
    ['a brace without an end', 'a: { b: 1\nc: 2\n', ['1:4: this "{" is not closed: write "}" at its end']],
    [
      'a brace whose end is a comment',
      'a: { b: 1 #}\nc: 2\n',
      ['1:4: this "{" is not closed: write "}" at its end'],
    ],
    ['a bracket without an end', 'a: [1\nc: 2\n', ['1:4: this "[" is not closed: write "]" at its end']],
    [
      'a bracket with the wrong end',
      'a: [{ b: 1 }, 1}\nc: 1\n',
      ['1:4: this "[" is not closed: write "]" at its end'],
    ],
    ['a brace too much', 'a: { b: 1 }}\nc: 1\n', ['1:12: this bracket closes nothing: remove it']],
    ['a bracket too much', 'a: [1]]\nc: 1\n', ['1:7: this bracket closes nothing: remove it']],
    ['a missing comma', 'a: { b: "1" c: 2 }\n', [`1:9: ${COMMA}`]],
    ['a semicolon for a comma', 'a: { b: 1; c: 2 }\n', [`1:9: ${COMMA}`]],
    ['a missing comma in a list', 'a: ["x" "y"]\n', [`1:9: ${COMMA}`]],
    ['a comma too much', 'a: { b: 1,, c: 2 }\n', ['1:11: there is no entry before this comma: remove it']],
    [
      'text behind a bracket',
      'a: [::]:80\n',
      ['1:8: the value ended with the ] before this: remove what follows, or put the whole value in quotes'],
    ],
    ['a variable in braces', `a: { b: \${X} }\nc: 1\n`, [`1:10: ${IN_QUOTES}`]],
    ['a variable in brackets', `a: [\${X}]\nc: 1\n`, [`1:6: ${IN_QUOTES}`]],
    ['a parameter in braces', '- { path: /v1/{id}, up: x }\n- 1\n', [`1:15: ${IN_QUOTES}`]],
    // Characters with a meaning.
    [
      '"*"',
      'a: *\n',
      [
        '1:4: a value that starts with "*" must be in quotes; for everything write any, and for every path /**',
      ],
    ],
    [
      'a line of limits.yaml that begins with a star',
      'routes:\n  *.example.com/v1/**: a\n',
      ['2:22: a line that begins with a star must be in quotes'],
    ],
    ['"&"', 'a: & b\n', ['1:4: a value that starts with "&" must be in quotes']],
    ['">"', 'a: > x\nb: 1\n', ['1:6: this is not valid YAML: Not a YAML token']],
    ['"%" in the first line', '%a: 1\n', ['1:1: a line that starts with "%" is a YAML directive: remove it']],
    [
      'a key of more than 1024 characters',
      `${'a'.repeat(1100)}: 1\n`,
      [
        '1:1: this is not valid YAML: The : indicator must be at most 1024 chars after the start of an implicit block mapping key',
      ],
    ],
    // Characters that no text has.
    [
      'a carriage return alone',
      'a: 1\rb: 2\r',
      ['1:5: a carriage return without a line feed: save the file with LF, or CRLF, as line ends'],
    ],
    [
      'a zero byte',
      'a: 1\nb: x\0y\n',
      ['2:5: the character U+0000 does not belong in a text file: is this the right file?'],
    ],
    [
      'an escape of a terminal',
      'a: "\u001b[31m"\n',
      ['1:5: the character U+001B does not belong in a text file: is this the right file?'],
    ],
    [
      'a byte order mark in the middle',
      'a: 1\n\ufeffb: 2\n',
      ['2:1: the character U+FEFF does not belong in a text file: is this the right file?'],
    ],
    // Keys that come twice.
    ['a doubled key', 'a: 1\nb:\n  c: 1\n  d: 1\n  c: 2\n', ['5:3: the key "c" is already there, in line 3']],
    ['a doubled key in one line', 'a: { b: 1, b: 2 }\n', ['1:12: the key "b" is already there, in line 1']],
    [
      'a key that comes thrice',
      'a: 1\na: 2\na: 3\n',
      ['2:1: the key "a" is already there, in line 1', '3:1: the key "a" is already there, in line 1'],
    ],
    [
      'a list item without its "-"',
      'a:\n  - b: 1\n    b: 2\n',
      ['3:5: the key "b" is already there, in line 2; a new item of the list begins with "- "'],
    ],
  ])('%s', (_, text, errors) => {
    expect(errorsIn(text)).toEqual(errors);
  });

  it('reports at most fifty, one per line', () => {
    const errors = errorsIn('\ta: 1\n'.repeat(200));
    expect(errors).toHaveLength(50);
    expect(new Set(errors).size).toBe(50);
  });

  it('reads a map of very many keys in a time that grows with them, not with their square', () => {
    const text = Array.from({ length: 40_000 }, (_, index) => `k${index}: 1`).join('\n');
    // With every key compared to every other this takes half a minute, which no test may.
    expect(errorsIn(`${text}\nk7: 2\n`)).toEqual(['40001:1: the key "k7" is already there, in line 8']);
  });
});
