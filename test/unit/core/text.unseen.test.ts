import { expect, test } from 'vitest';
import { escapeInvisible } from '../../../src/core/index.ts';

test.each([
  ['C0', 0x00, 0x08],
  ['C0', 0x0b, 0x1f],
  ['DEL and C1', 0x7f, 0x9f],
  ['the Arabic letter mark', 0x61c, 0x61c],
  ['marks of direction', 0x200e, 0x200f],
  ['separators, embeddings and overrides', 0x2028, 0x202e],
  ['isolates', 0x2066, 0x2069],
])('%s become their escapes in JSON', (_, first, last) => {
  for (let code = first; code <= last; code++) {
    const text = `a${String.fromCodePoint(code)}b`;
    expect(escapeInvisible(text)).toBe(`a\\u${code.toString(16).padStart(4, '0')}b`);
    expect(JSON.parse(escapeInvisible(JSON.stringify(text)))).toBe(text);
  }
});

test('everything else stays', () => {
  const text = ' a\tb\n"é\u00a0ü\u200d中\u{1f600}"';
  expect(escapeInvisible(text)).toBe(text);
});
