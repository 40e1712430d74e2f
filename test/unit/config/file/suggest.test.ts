import { describe, expect, it } from 'vitest';
import { didYouMean, nearestWord } from '../../../../src/config/file/suggest.ts';

const KEYS = ['listen', 'upstreams', 'routes', 'timeouts', 'caps', 'log'];

describe('suggest', () => {
  it.each([
    ['a missing letter', 'upstream', 'upstreams'],
    ['an added letter', 'routess', 'routes'],
    ['a wrong letter', 'lisden', 'listen'],
    ['two letters swapped', 'cpas', 'caps'],
    ['another letter case', 'TimeOuts', 'timeouts'],
    ['two slips in a long word', 'tmieout', 'timeouts'],
  ])('finds the word behind %s', (_, written, meant) => {
    expect(nearestWord(written, KEYS)).toBe(meant);
  });

  it.each([
    ['timeout_seconds', undefined],
    ['logging', 'log'],
    ['time', 'timeouts'],
    ['up', undefined],
  ])('takes what begins with the other for meant: %s', (written, meant) => {
    expect(nearestWord(written, KEYS)).toBe(meant);
  });

  it('takes the nearest of several', () => {
    expect(nearestWord('first_byt', ['first_bits', 'first_byte'])).toBe('first_byte');
  });

  it.each(['cors', 'identity_provider', 'x', ''])(
    'suggests nothing for %j, which is near to no word',
    word => {
      expect(nearestWord(word, KEYS)).toBeUndefined();
    },
  );

  it('is quick for a word of a thousand letters', () => {
    expect(nearestWord('x'.repeat(1000), KEYS)).toBeUndefined();
  });
});

describe('didYouMean', () => {
  it('is the end of a sentence', () => {
    expect(didYouMean('route', KEYS)).toBe(', did you mean "routes"?');
  });

  it('is empty where nothing is near', () => {
    expect(didYouMean('webhooks', KEYS)).toBe('');
  });
});
