import { describe, expect, it } from 'vitest';
import { parseYamlText } from '../../../../src/config/file/yaml-text.ts';
import { buildYamlTree, nodeAt, type YamlTree } from '../../../../src/config/file/yaml-tree.ts';

function treeOf(text: string, env: Readonly<Record<string, string>> = {}): YamlTree {
  const { document, placeOf } = parseYamlText(text);
  if (document === null) throw new Error('the YAML is broken');
  return buildYamlTree(document, placeOf, env);
}

/** As JSON, since the maps of a tree have no prototype. */
function meaningOf(text: string, env: Readonly<Record<string, string>> = {}): unknown {
  return JSON.parse(JSON.stringify(treeOf(text, env).root.value));
}

function errorsIn(text: string): string[] {
  return treeOf(text).errors.map(({ line, column, message }) => `${line}:${column}: ${message}`);
}

function placeIn(text: string, ...path: (string | number)[]): string {
  const { node } = nodeAt(treeOf(text).root, path);
  const key = node.keyPlace === null ? '-' : `${node.keyPlace.line}:${node.keyPlace.column}`;
  return `${key} ${node.place.line}:${node.place.column}`;
}

describe('a YAML tree', () => {
  it('means what YAML 1.2 says', () => {
    expect(meaningOf('a: [1, 1e3, 0x10, 1.5, true, off, yes, ~, "1", x y]\n')).toEqual({
      a: [1, 1000, 16, 1.5, true, 'off', 'yes', null, '1', 'x y'],
    });
  });

  it('takes numbers and words for keys as they are written', () => {
    expect(meaningOf('1: a\ntrue: b\n')).toEqual({ 1: 'a', true: 'b' });
  });

  it('resolves variables in values, always to text, and not in keys', () => {
    expect(meaningOf(`a: \${N}\n"\${N}": ["x\${N}"]\n`, { N: '7' })).toEqual({ a: '7', [`\${N}`]: ['x7'] });
  });

  it('follows aliases', () => {
    expect(meaningOf('a: &a { x: [1] }\nb: *a\nc: &c 5s\nd: *c\n')).toEqual({
      a: { x: [1] },
      b: { x: [1] },
      c: '5s',
      d: '5s',
    });
  });

  it('takes the nearest anchor above an alias', () => {
    expect(meaningOf('a: &x 1\nb: *x\nc: &x 2\nd: *x\n')).toEqual({ a: 1, b: 1, c: 2, d: 2 });
  });

  it('merges maps, those written win, then the first', () => {
    const text =
      'a: &a { x: 1, y: 1 }\nb: &b { y: 2, z: 2 }\nc: { x: 3, <<: [*a, *b] }\nd: { <<: *a, y: 4 }\n';
    expect(meaningOf(text)).toMatchObject({ c: { x: 3, y: 1, z: 2 }, d: { x: 1, y: 4 } });
  });

  it('takes "<<" in quotes for an ordinary key', () => {
    expect(meaningOf('a: { "<<": 1 }\n')).toEqual({ a: { '<<': 1 } });
  });

  it('has the place of every key and value', () => {
    const text = 'a:\n  b: x\n  c:\n    - y\n    - { d: z }\n';
    expect(placeIn(text)).toBe('- 1:1');
    expect(placeIn(text, 'a')).toBe('1:1 2:3');
    expect(placeIn(text, 'a', 'b')).toBe('2:3 2:6');
    expect(placeIn(text, 'a', 'c', 0)).toBe('- 4:7');
    expect(placeIn(text, 'a', 'c', 1, 'd')).toBe('5:9 5:12');
  });

  it('has the place of an alias where it stands, and of what is in it where that is written', () => {
    const text = 'a: &a { x: 1 }\nb: *a\nc: { <<: *a }\n';
    expect(placeIn(text, 'b')).toBe('2:1 2:4');
    expect(placeIn(text, 'b', 'x')).toBe('1:9 1:12');
    expect(placeIn(text, 'c', 'x')).toBe('1:9 1:12');
  });

  it('finds the innermost place that exists on the way to one that does not', () => {
    const { root } = treeOf('a: { b: 1 }\n');
    expect(nodeAt(root, ['a', 'c', 'd'])).toMatchObject({ exact: false, node: { place: { column: 4 } } });
    expect(nodeAt(root, ['a', 'b'])).toMatchObject({ exact: true, node: { value: 1 } });
  });

  it.each([
    [
      'an alias of nothing',
      'a: *b\n',
      '1:4: no anchor above this alias has its name; a value that starts with "*" must be in quotes',
    ],
    ['an alias within itself', 'a: &a [*a]\n', '1:8: this alias refers to a value that contains it'],
    ['a merge of itself', 'a: &a { <<: *a }\n', '1:13: this alias refers to a value that contains it'],
    [
      'a merge of a list of numbers',
      'a: &a [1]\nb: { <<: *a }\n',
      '1:8: "<<" merges maps, and this is not a map',
    ],
    ['a merge of a word', 'b: { <<: a }\n', '1:10: "<<" merges maps, and this is not a map'],
    [
      'a tag of its own',
      'a: !secret x\n',
      '1:12: a tag ("!" and a word) has no meaning here: remove it, or put the value in quotes',
    ],
    [
      'a tag of YAML',
      'a: !!set { x }\n',
      '1:10: a tag ("!" and a word) has no meaning here: remove it, or put the value in quotes',
    ],
    ['a key that would be passed over', '__proto__: 1\n', '1:1: unknown key "__proto__"'],
    ['a variable that is not set', `a: "\${NO}"\n`, '1:4: the environment variable NO is not set'],
  ])('places %s', (_, text, error) => {
    expect(errorsIn(text)).toEqual([error]);
  });

  it('gives no key that stands for something else to the maps it builds', () => {
    const { root } = treeOf('__proto__: { polluted: true }\na: 1\n');
    expect(Object.keys(root.value as object)).toEqual(['a']);
    expect((root.value as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('refuses merges that multiply, and says so once', () => {
    const keys = Array.from({ length: 300 }, (_, index) => `k${index}: 1`).join(', ');
    const merges = Array.from({ length: 500 }, (_, index) => `n${index}: { <<: *m }`).join('\n');
    expect(errorsIn(`m: &m { ${keys} }\n${merges}\n`)).toEqual([
      '335:13: merging multiplies this file to more than 100000 values',
      '1:1: aliases multiply this file to more than 100000 values',
    ]);
  });

  it('refuses aliases that multiply, in no time', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let i = 1; i < 60; i++) {
      const before = `*a${i - 1}`;
      lines.push(`a${i}: &a${i} [${Array(10).fill(before).join(', ')}]`);
    }
    const { root, errors } = treeOf(lines.join('\n'));
    expect(errors).toMatchObject([{ message: 'aliases multiply this file to more than 100000 values' }]);
    expect(root.value).toBeNull();
  });

  it('refuses merges that multiply, before they fill the memory', () => {
    const big = `a: &a { ${Array.from({ length: 2000 }, (_, i) => `k${i}: 1`).join(', ')} }`;
    const merges = Array.from({ length: 2000 }, (_, i) => `m${i}: { <<: *a }`);
    const { errors } = treeOf([big, ...merges].join('\n'));
    expect(errors[0]).toMatchObject({
      line: 52,
      message: 'merging multiplies this file to more than 100000 values',
    });
  });
});
