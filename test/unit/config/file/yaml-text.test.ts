import { describe, expect, it } from 'vitest';
import { parseYamlText } from '../../../../src/config/file/yaml-text.ts';

function errorsIn(text: string): string[] {
  return parseYamlText(text).errors.map(({ line, column, message }) => `${line}:${column}: ${message}`);
}

it('finds nothing wrong with sound YAML, with Windows line ends and a byte order mark too', () => {
  expect(errorsIn('\ufeff# hello\r\na: [1, "x"]\r\nb:\r\n  - c: d\r\n')).toEqual([]);
});

describe('broken YAML is reported once, where it begins, with what to write', () => {
  const INDENT = 'indent this line like the others of its map, or begin it with "- " like those of its list';
  const KEY = 'a key is followed by ":" and a space in its own line, and in brackets "," comes before it';
  const QUOTE = 'the value ended before this, put all of it in quotes, or in brackets a "," before this';
  const COLON = 'put a value with ": " in it in quotes, and indent the next key like this one';
  const BRACE = 'the "{" here is never closed, write "}" at its end';
  const BRACKET = 'the "[" here is never closed, write "]" at its end';
  const GLUED = 'a space is missing after ":"';
  const between = (opening: string, end: string) =>
    `a bracket is missing or wrong between the "${opening[0]}" here and the "${end[0]}" in line ${end.slice(1)}`;
  const ITEMS = 'in brackets separate items by ",", and write lists and maps there in brackets as well';

  it.each<[string, string, string, string]>([
    ['a key too far in', 'a:\n  b: x\n    c: y\nd: 1\n', '2:6', COLON],
    ['a key too far in, behind a quoted value', 'a:\n  b: "x"\n    c: y\nd: 1\n', '3:1', INDENT],
    ['a key too far out', 'a:\n  b: x\n c: y\nd: 1\n', '3:1', INDENT],
    ['a key of a list item too far out', 'a:\n  - b: x\n   c: y\n', '3:1', INDENT],
    ['an item without its "-"', 'a:\n  - b: 1\n  b: 2\n    c: 3\n', '3:1', INDENT],
    ['a key among list items', 'a:\n  - b: 1\n  c: 2\n', '3:1', INDENT],
    ['a key behind a list at the top', '- a\nb: 1\n', '2:1', INDENT],
    ['a list item among keys', 'a:\n  c: 2\n  - b: 1\n', '3:1', INDENT],
    ['a "-" without a space', 'a:\n  - b: 1\n  -c: 2\n', '3:1', INDENT],
    ['a key further out than the first of the file', '   a:\n  b: x\n  c: y\nd: 1\n', '2:3', INDENT],
    ['a map with a quoted value, without a space', 'u:\n  api:{ url: "http://a" }\nr: 1\n', '2:7', GLUED],
    ['a map without a space before it', 'a:\n  - b: 1\n    c:{ d: 1, e: 2 }\n', '3:7', GLUED],
    ['a list without a space before it', 'a: 1\nb:[c, d]\n', '2:3', GLUED],
    ['a line without it, with a parameter', 'a: 1\nGET /v1/{id}:[c, d]\n', '2:14', GLUED],
    ['a tab behind a "-"', 'a:\n  -\tb: 1\n    c: 2\n', '2:4', 'there is a tab here, use spaces'],
    ['no space after ":"', 'a:\n  b: 1\n  c:x\n  d: 1\n', '3:3', KEY],
    ['no space after ":", in the last line', 'a:\n  b: 1\n  c:x\n', '3:3', KEY],
    ['"=" for ":"', 'a: 1\nb = 2\nc: 3\n', '2:1', KEY],
    ['TOML', '[a]\nb = "x"\n', '2:1', INDENT],
    ['a full-width colon', 'a: 1\nb：2\nc: 3\n', '2:1', KEY],
    ['neither key nor item', 'a: 1\n<html>\nb: 1\n', '2:1', KEY],
    ['": " in a value', 'a: b: c\n', '1:4', COLON],
    ['a list behind its key', 'a: - b\n', '1:4', 'a list begins in a new line below its key'],
    ['a merge', 'a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> x\n', '2:1', KEY],
    ['a quote without an end', 'a: "x"\nb: "y\nc: 1\nd: 1\n', '2:4', 'a quote is not closed'],
    ['a single quote without an end', "a: 1\nb: 'x\nc: 1\n", '2:4', 'a quote is not closed'],
    ['a quote that another one ends', 'a: "x\nb: "y"\nc: "z"\nd: 1\n', '1:4', 'a quote is not closed'],
    [
      'a quote without an end, before a comment with one',
      "a: 1\nb: 'x\n# it's\n",
      '2:4',
      'a quote is not closed',
    ],
    ['a blank of its own in a quoted text', '- 1\n- a: "x\u200b": y\n', '2:6', COLON],
    ['a single quote in single quotes', "a: 'it's'\n", '1:8', QUOTE],
    ['text behind a quote', 'a: "x" y\n', '1:8', QUOTE],
    [
      'an escape that is none',
      'a: "\\d"\n',
      '1:5',
      'in double quotes "\\" begins an escape, write "\\\\" or single quotes',
    ],
    ['a brace without an end', 'a: { b: 1\nc: 2\n', '1:4', BRACE],
    ['a bracket without an end', 'a: [1\nc: 2\n', '1:4', BRACKET],
    ['a bracket with the wrong end', 'a: [{ b: 1 }, 1}\nc: 1\n', '1:4', between('[', '}1')],
    ['a bracket with the wrong end, lines below', 'a: [\n  1,\n  2\n}\nb: 1\n', '1:4', between('[', '}4')],
    ['a bracket with a brace behind one', 'a: [{ b: 1 }}\nc: 1\n', '1:4', between('[', '}1')],
    ['a brace in which one is missing', 'a: { b: {}, c: ] }\nd: 1\n', '1:4', between('{', ']1')],
    ['a list with an item without its brace', 'a: [ b: 1 }, { c: 1 }]\n', '1:4', between('[', '}1')],
    ['a bracket around one with an end, at the end of the file', 'a: [[1], [2]', '1:4', BRACKET],
    ['a bracket around a brace with an end, at the end of the file', 'a: [{ b: 1 }', '1:4', BRACKET],
    ['a brace around a bracket with an end, at the end of the file', 'a: { b: [1]', '1:4', BRACE],
    ['a brace around one with an end, at the end of the file', 'a: { b: { c: 1 }', '1:4', BRACE],
    ['a brace around one without, at the end of the file', 'a: { b: { c: 1', '1:9', BRACE],
    ['a bracket around a key, at the end of the file', 'a: [b: 1', '1:4', BRACKET],
    ['a bracket whose end is behind a "#", at the end of the file', 'a: [1, # ]', '1:4', BRACKET],
    [
      'a bracket without an end, and nothing in it',
      'a: [\nb: 1\n',
      '1:4',
      `${BRACKET}, and indent all lines up to it`,
    ],
    [
      'lines in braces no further in than their key',
      'a:\n  b: {\n  c: 1,\n  d: 2\n  }\n',
      '2:6',
      `${BRACE}, and indent all lines up to it`,
    ],
    [
      'lines in brackets no further in, behind the first of them',
      'a:\n  b: [c,\n  d]\n',
      '2:6',
      `${BRACKET}, and indent all lines up to it`,
    ],
    [
      'a brace too much',
      'a: { b: 1 }}\nc: 1\n',
      '1:12',
      'nothing opens this bracket, or a space is missing before what does',
    ],
    ['a missing comma', 'a: { b: "1" c: 2 }\n', '1:9', ITEMS],
    ['a comma too much', 'a: { b: 1,, c: 2 }\n', '1:11', 'there is one "," too many here'],
    ['text behind a bracket', 'a: [::]:80\n', '1:8', QUOTE],
    ['a variable in braces', `a: { b: \${X} }\nc: 1\n`, '1:10', QUOTE],
    ['a parameter in braces', '- { path: /v1/{id}, up: x }\n- 1\n', '1:15', QUOTE],
    ['"*"', 'a: *\n', '1:4', 'put what begins with "*" in quotes'],
    [
      'a star at the start of a line',
      'routes:\n  *.example.com/v1/**: a\n',
      '2:22',
      'put what begins with "*" in quotes',
    ],
    ['an at sign at the start', 'a: @b\nc: @d\n', '1:4', 'put a value that begins with "@" in quotes'],
    ['">"', 'a: > x\nb: 1\n', '1:6', 'put what begins with ">" or "|" in quotes, or its text in new lines'],
    [
      'a key of more than 1024 characters',
      `${'a'.repeat(1100)}: 1\n`,
      '1:1',
      'The : indicator must be at most 1024 chars after the start of an implicit block mapping key',
    ],
    ['a brace without an end, in the last line', 'global: { user: 5\n', '1:9', BRACE],
    ['a brace without an end, in a list of such', 'a:\n  - { b: 1, c: 2\n  - { b: 3, c: 4 }\n', '2:5', BRACE],
    ['a brace without an end, behind lines of its own', 'a: {\n  b: "1"\nc: 2\n', '1:4', BRACE],
    ['a brace without an end, around one that has it', 'a: { b: { c: 1 }\nd: 1\n', '1:4', BRACE],
    ['a brace without an end in one without', 'a: { b: { c: 1\nd: 1\n', '1:9', BRACE],
    ['a brace without an end, around the whole file', '{ a: 1\n', '1:1', BRACE],
    ['a quote without an end, in braces', 'a: { b: "x\nc: 1\n', '1:9', 'a quote is not closed'],
    ['a key without ":"', 'a: 1\nb\n  c: 1\n', '2:1', KEY],
    ['a list item behind a key, at the top', 'a: 1\n- b\n', '2:1', KEY],
    ['a missing comma between quotes', 'a: ["b" "c"]\n', '1:9', 'a "," is missing here'],
    ['a missing comma behind a brace', 'a: { b: {} c: 1 }\n', '1:12', QUOTE],
    ['a missing ":" in braces', 'a: { b {}, c: 1 }\n', '1:8', 'a "," or a ":" is missing here'],
    ['two values in quotes', 'a: "b" "c"\n', '1:8', QUOTE],
    ['a comma too few at the end of a line', 'a: [1, 2\n  b: 3]\n', '1:8', KEY],
    ['a key with a quote without an end', 'a: 1\n"b: 1\nc: "d"\n', '2:1', 'a quote is not closed'],
    ['a comment right behind a quote', 'a: "x"#c\n', '1:7', 'a space is missing before "#"'],
    ['lines of a list in brackets', 'a: [\n  - b\n]\n', '2:3', ITEMS],
  ])('%s', (_, text, place, words) => {
    const isQuote = words === 'a quote is not closed';
    expect(errorsIn(text)).toEqual([`${place}: ${isQuote ? '' : 'this is not valid YAML: '}${words}`]);
  });
});

describe('in our words, what the parser does not see or says to programmers only', () => {
  const TAB = 'a tab indents this line: use spaces';
  const KEY = 'a key must be plain text: put what begins with {, [ or * in quotes';

  it.each([
    ['a tab', 'a:\n\tb: 1\n\tc: 1\n', `2:1: ${TAB}`],
    ['a tab behind spaces', 'a:\n  b: 1\n  \tc: 1\n', `3:3: ${TAB}`],
    ['a tab before a list below its key', 'a:\n  b:\n\t    - c\nd: 1\n', `3:1: ${TAB}`],
    ['tabs in braces', 'a: {\n\tb: 1,\n\tc: 2\n}\n', `2:1: ${TAB}`],
    [
      'a no-break space',
      'a: 1\nb:\u00a0x\nc: 3\n',
      '2:3: U+00A0 looks like a space but is not one: type a space',
    ],
    ['a template', 'a: {{ .Values.x }}\nb: 1\n', `1:5: ${KEY}`],
    ['a list as key', '? [a]\n: 1\n', `1:3: ${KEY}`],
    [
      'a second document',
      'a: 1\n---\nb: 2\n',
      '2:1: a second YAML document starts here: a file has only one, remove the "---"',
    ],
    ['a directive', '%hunter2: 1\n', '1:1: a line that starts with "%" is a YAML directive: remove it'],
    ['lists a thousand deep', `a: ${'['.repeat(5000)}`, expect.stringMatching(/^1:\d+: nested too deeply$/)],
    [
      'a carriage return alone',
      'a: 1\rb: 2\r',
      '1:5: a carriage return without a line feed: save the file with LF, or CRLF, as line ends',
    ],
    [
      'a zero byte',
      'a: 1\nb: x\0y\n',
      '2:5: the character U+0000 does not belong in a text file: is this the right file?',
    ],
    [
      'an escape of a terminal',
      'a: "\u001b[31m"\n',
      '1:5: the character U+001B does not belong in a text file: is this the right file?',
    ],
    [
      'a byte order mark in the middle',
      'a: 1\n\ufeffb: 2\n',
      '2:1: the character U+FEFF does not belong in a text file: is this the right file?',
    ],
  ])('%s', (_, text, error) => {
    expect(errorsIn(text)).toEqual([error]);
  });
});

describe('keys that come twice', () => {
  it.each([
    ['in a map', 'a: 1\nb:\n  c: 1\n  d: 1\n  c: 2\n', ['5:3: the key "c" is already there, in line 3']],
    ['in one line', 'a: { b: 1, b: 2 }\n', ['1:12: the key "b" is already there, in line 1']],
    [
      'or thrice',
      'a: 1\na: 2\na: 3\n',
      ['2:1: the key "a" is already there, in line 1', '3:1: the key "a" is already there, in line 1'],
    ],
    [
      'where a list item lacks its "-"',
      'a:\n  - b: 1\n    b: 2\n',
      ['3:5: the key "b" is already there, in line 2; a new item of the list begins with "- "'],
    ],
  ])('are all reported: %s', (_, text, errors) => {
    expect(errorsIn(text)).toEqual(errors);
  });

  it('leave the document to be checked, as nothing else does', () => {
    expect(parseYamlText('a: 1\na: 2\n').document).not.toBeNull();
    expect(parseYamlText('a: 1\na: "2\n').document).toBeNull();
  });

  it('are found in a time that grows with the keys, not with their square', () => {
    const text = Array.from({ length: 40_000 }, (_, index) => `k${index}: 1`).join('\n');
    // With every key compared to every other this takes half a minute, which no test may.
    expect(errorsIn(`${text}\nk7: 2\n`)).toEqual(['40001:1: the key "k7" is already there, in line 8']);
  });
});
