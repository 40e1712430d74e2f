import { expect, test } from 'vitest';
import { redact } from '../../../../src/identity/signin/failures.ts';

test.each([
  ...['Code not valid', 'Incorrect redirect_uri', 'Invalid client or Invalid client credentials'],
  ...["it's (really) gone.", 'AADSTS50011: The redirect URI', 'see (AADSTS7000215)'],
  ...['AADB2C90080: The provided grant has expired.', 'MSIS9615: The refresh token is invalid.'],
])('%j stays as it is', text => expect(redact(text, [])).toBe(text));

test('secrets are cut out wherever they stand, with the word around them', () => {
  expect(redact('no such code:abc, or abc', ['abc', ''])).toBe('no such [...] or [...]');
});

test('a secret in plain words is cut out whole, although a shorter one is a part of it', () => {
  const phrase = 'correct horse battery staple';
  expect(redact(`not ${phrase} there`, ['horse', phrase])).toBe('not [...] there');
});

test('text does not grow, however often it contains a secret of one character', () => {
  const secrets = ['.', '[', ']'];
  expect(redact('.[]'.repeat(100_000), secrets)).toBe('[...]');
});

test.each([
  'kaKMQkpcEziPgx18IQ5Jh2ZQy9WBVv2g04YqspeuQKf',
  'eyJhbGciOi',
  'https://app.example/cb?x=1',
  'user@example.com',
  'x'.repeat(25),
])('%j could be a secret or says who it is about', word =>
  expect(redact(`the word ${word} here`, [])).toBe('the word [...] here'),
);

test('line breaks, control characters and what is not ASCII become spaces', () => {
  expect(redact('one\r\ntwo\u0000three\u2028ü four', [])).toBe('one two three four');
});

test('a redacted text is short', () => {
  expect(redact('word '.repeat(1_000), []).length).toBeLessThanOrEqual(200);
});
