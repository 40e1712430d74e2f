import { describe, expect, it } from 'vitest';
import { parseYamlText } from '../../../../src/config/file/yaml-text.ts';

function errorsIn(text: string): string[] {
  return parseYamlText(text).errors.map(({ line, column, message }) => `${line}:${column}: ${message}`);
}

it('finds nothing wrong with sound YAML, with Windows line ends and a byte order mark too', () => {
  expect(errorsIn('\ufeff# hello\r\na: [1, "x"]\r\nb:\r\n  - c: d\r\n')).toEqual([]);
});

describe('broken YAML is reported once, in the line or the one before, as the parser says it', () => {
  it.each<[string, string, number]>([
    ['a key too far in', 'a:\n  b: x\n    c: y\nd: 1\n', 3],
    ['a key too far in, behind a quoted value', 'a:\n  b: "x"\n    c: y\nd: 1\n', 3],
    ['a key too far out', 'a:\n  b: x\n c: y\nd: 1\n', 3],
    ['a key of a list item too far out', 'a:\n  - b: x\n   c: y\n', 3],
    ['a key among list items', 'a:\n  - b: 1\n  c: 2\n', 3],
    ['a key behind a list at the top', '- a\nb: 1\n', 2],
    ['a list item among keys', 'a:\n  c: 2\n  - b: 1\n', 3],
    ['a "-" without a space', 'a:\n  - b: 1\n  -c: 2\n', 3],
    ['a key further out than the first of the file', '   a:\n  b: x\n  c: y\nd: 1\n', 2],
    ['a map with a quoted value, without a space', 'u:\n  api:{ url: "http://a" }\nr: 1\n', 2],
    ['a list without a space before it', 'a: 1\nb:[c, d]\n', 2],
    ['a tab behind a "-"', 'a:\n  -\tb: 1\n    c: 2\n', 2],
    ['no space after ":"', 'a:\n  b: 1\n  c:x\n  d: 1\n', 3],
    ['no space after ":", in the last line', 'a:\n  b: 1\n  c:x\n', 3],
    ['"=" for ":"', 'a: 1\nb = 2\nc: 3\n', 2],
    ['TOML', '[a]\nb = "x"\n', 2],
    ['a full-width colon', 'a: 1\nb：2\nc: 3\n', 2],
    ['neither key nor item', 'a: 1\n<html>\nb: 1\n', 2],
    ['": " in a value', 'a: b: c\n', 1],
    ['a list behind its key', 'a: - b\n', 1],
    ['a merge', 'a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> x\n', 2],
    ['a quote without an end', 'a: "x"\nb: "y\nc: 1\nd: 1\n', 2],
    ['a single quote without an end', "a: 1\nb: 'x\nc: 1\n", 2],
    ['a quote that another one ends', 'a: "x\nb: "y"\nc: "z"\nd: 1\n', 1],
    ['a quote without an end, before a comment with one', "a: 1\nb: 'x\n# it's\n", 2],
    ['a blank of its own in a quoted text', '- 1\n- a: "x\u200b": y\n', 2],
    ['a single quote in single quotes', "a: 'it's'\n", 1],
    ['text behind a quote', 'a: "x" y\n', 1],
    ['an escape that is none', 'a: "\\d"\n', 1],
    ['a brace without an end', 'a: { b: 1\nc: 2\n', 2],
    ['a bracket without an end', 'a: [1\nc: 2\n', 2],
    ['a bracket with the wrong end', 'a: [{ b: 1 }, 1}\nc: 1\n', 1],
    ['a brace too much', 'a: { b: 1 }}\nc: 1\n', 1],
    ['a missing comma', 'a: { b: "1" c: 2 }\n', 1],
    ['a comma too much', 'a: { b: 1,, c: 2 }\n', 1],
    ['text behind a bracket', 'a: [::]:80\n', 1],
    ['a variable in braces', `a: { b: \${X} }\nc: 1\n`, 1],
    ['a parameter in braces', '- { path: /v1/{id}, up: x }\n- 1\n', 1],
    ['"*"', 'a: *\n', 1],
    ['a star at the start of a line', 'routes:\n  *.example.com/v1/**: a\n', 2],
    ['an at sign at the start', 'a: @b\nc: @d\n', 1],
    ['">"', 'a: > x\nb: 1\n', 1],
    ['a key of more than 1024 characters', `${'a'.repeat(1100)}: 1\n`, 1],
  ])('%s', (_, text, line) => {
    const [error = '', ...others] = errorsIn(text);
    expect(others).toEqual([]);
    expect(error).toMatch(
      /^\d+:\d+: (a quote is not closed|this is not valid YAML: [A-Z][\w ,:{}[\]"'@-]+)$/,
    );
    expect([line - 1, line]).toContain(Number.parseInt(error, 10));
  });
});

describe('in our words, what the parser does not see or says to programmers only', () => {
  const TAB = 'a tab indents this line: use spaces';
  const KEY = 'a key must be plain text: put what begins with {, [ or * in quotes';

  it.each([
    ['a tab', 'a:\n\tb: 1\n\tc: 1\n', `2:1: ${TAB}`],
    ['a tab behind spaces', 'a:\n  b: 1\n  \tc: 1\n', `3:3: ${TAB}`],
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
