import { sensitiveHeaders } from 'node:http2';
import { expect, test } from 'vitest';
import { markNeverIndexed, neverIndexedIn } from '../../../../src/server/http2/session-options.ts';

test('fields that are never indexed in any case are not worth a word', () => {
  const sent = (...names: string[]) => [...neverIndexedIn({ [sensitiveHeaders]: names })];
  expect(sent()).toEqual([]);
  expect(sent('authorization', 'cookie')).toEqual([]);
  expect(sent('authorization', 'x-key', 'x-key')).toEqual(['authorization', 'x-key']);
});

test('only fields that are there are marked, each once, in whatever case they are', () => {
  const fields = ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'etag', 'x-key'];
  const marks = (names: string[]) =>
    Reflect.get(markNeverIndexed({}, fields, new Set(names)), sensitiveHeaders);
  expect(marks(['set-cookie', 'x-key'])).toEqual(['Set-Cookie']);
  expect(marks([])).toBeUndefined();
});
