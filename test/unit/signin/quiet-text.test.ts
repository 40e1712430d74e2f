import { expect, test } from 'vitest';
import { quietText } from '../../../src/signin/quiet-text.ts';

test.each([
  'Code not valid',
  'Incorrect redirect_uri',
  'Invalid client or Invalid client credentials',
  "it's (really) gone.",
])('%j stays as it is', text => expect(quietText(text, [])).toBe(text));

test('secrets are cut out wherever they stand, with the word around them', () => {
  expect(quietText('no such code:abc, or abc', ['abc', ''])).toBe('no such [...] or [...]');
});

test('a secret in plain words is cut out whole, although a shorter one is a part of it', () => {
  const phrase = 'correct horse battery staple';
  expect(quietText(`not ${phrase} there`, ['horse', phrase])).toBe('not [...] there');
});

test('text does not grow, however often it contains a secret of one character', () => {
  const secrets = ['.', '[', ']'];
  expect(quietText('.[]'.repeat(100_000), secrets)).toBe('[...]');
});

test.each([
  'kaKMQkpcEziPgx18IQ5Jh2ZQy9WBVv2g04YqspeuQKf',
  'eyJhbGciOi',
  'https://app.example/cb?x=1',
  'user@example.com',
  'x'.repeat(25),
])('%j could be a secret or says who it is about', word =>
  expect(quietText(`the word ${word} here`, [])).toBe('the word [...] here'),
);

test('line breaks, control characters and what is not ASCII become spaces', () => {
  expect(quietText('one\r\ntwo\u0000three\u2028ü four', [])).toBe('one two three four');
});

test('quiet text is short', () => {
  expect(quietText('word '.repeat(1_000), []).length).toBeLessThanOrEqual(200);
});
