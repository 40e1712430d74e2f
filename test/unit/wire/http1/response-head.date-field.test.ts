import { expect, test } from 'vitest';
import { DateField } from '../../../../src/wire/http1/response-head.ts';

test('a date is the second that it is now, in the form of RFC 9110, 5.6.7', () => {
  const date = new DateField();
  expect(date.at(784_111_777_000)).toBe('Sun, 06 Nov 1994 08:49:37 GMT');
  expect(date.at(784_111_777_999.9)).toBe('Sun, 06 Nov 1994 08:49:37 GMT');
  expect(date.at(784_111_778_000)).toBe('Sun, 06 Nov 1994 08:49:38 GMT');
});

test('a date goes back where the clock of the world does', () => {
  const date = new DateField();
  expect(date.at(86_400_000)).toBe('Fri, 02 Jan 1970 00:00:00 GMT');
  expect(date.at(0)).toBe('Thu, 01 Jan 1970 00:00:00 GMT');
});
