import { describe, expect, it } from 'vitest';
import { parseYamlText } from '../../../../src/config/file/yaml-text.ts';

function errorsIn(text: string): string[] {
  return parseYamlText(text).errors.map(({ line, column, message }) => `${line}:${column}: ${message}`);
}

describe('parseYamlText', () => {
  it('finds nothing wrong with sound YAML, with Windows line ends and a byte order mark too', () => {
    expect(errorsIn('\ufeff# hello\r\na: [1, "x"]\r\nb:\r\n  - c: d\r\n')).toEqual([]);
  });

  it.each([
    ['a key that comes twice', 'a: 1\nb: 2\na: 3\n', '3:1: the key "a" is already there, in line 1'],
    [
      'a second document',
      'a: 1\n---\nb: 2\n',
      '2:1: a second YAML document starts here: a file has only one, remove the "---"',
    ],
    ['a tab as indent', 'a:\n\tb: 1\n', '2:1: a tab indents this line: use spaces'],
    ['a list as key', '? [a]\n: 1\n', '1:3: a key must be plain text'],
    [
      'a variable without quotes in a flow map',
      `a: { b: \${X}, c: 1 }\n`,
      '1:10: inside { } or [ ] a value with braces or brackets of its own must be in quotes',
    ],
    [
      'a parameter without quotes in a flow map',
      'a: { path: /v1/{id} }\n',
      '1:16: inside { } or [ ] a value with braces or brackets of its own must be in quotes',
    ],
    [
      'a star alone',
      'a: *\n',
      '1:4: a value that starts with "*" must be in quotes; for everything write any, and for every path /**',
    ],
    ['an at sign at the start', 'a: @b\n', '1:4: a value that starts with "@" must be in quotes'],
    [
      'a quote that is not closed',
      'a: "b\nc: d\n',
      '1:4: the quote that opens here is not closed: write " at its end',
    ],
    [
      'an unknown version of YAML',
      '%YAML 1.9\n---\na: 1\n',
      '1:7: a line that starts with "%" is a YAML directive: remove it',
    ],
    ['lists a thousand deep', `a: ${'['.repeat(5000)}`, expect.stringMatching(/^1:\d+: nested too deeply$/)],
  ])('places %s', (_, text, error) => {
    expect(errorsIn(text)).toEqual([error]);
  });

  it('reports one error per line, since the rest of the line is out of step', () => {
    expect(errorsIn('- a\nb: 1\n')).toEqual([
      '2:1: this key is among list items: write "- " before it, or indent it to belong to the item above',
    ]);
  });

  it('keeps the document when its only fault is a doubled key', () => {
    expect(parseYamlText('a: 1\na: 2\n').document).not.toBeNull();
    expect(parseYamlText('a: 1\na: "2\n').document).toBeNull();
  });
});
