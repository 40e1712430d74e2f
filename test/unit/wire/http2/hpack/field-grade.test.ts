import { expect, test } from 'vitest';
import {
  FieldGrade,
  gradeRequestField,
  gradeResponseField,
} from '../../../../../src/wire/http2/hpack/index.ts';

test.each([
  ['x-one', 'a value'],
  ['x-one', ''],
  ['x-one', '\xe4\xff'],
  ['x-one', 'a\tb'],
  ["!#$%&'*+-.^_`|~09az", '~'],
  ['content-length', '5'],
  ['te', 'trailers'],
])('"%s: %s" is a field', (name, value) => {
  expect(gradeResponseField(name, value)).toBe(FieldGrade.FIELD);
});

test.each([
  ['', 'x'],
  ['x one', 'x'],
  ['x\xe4', 'x'],
  ['x:', 'x'],
  ['x-one', 'a\r\nset-cookie: b'],
  ['x-one', 'a\0b'],
  ['x-one', '\x7f'],
  ['x-one', ' a'],
  ['x-one', 'a\t'],
  ['x-one', ' '],
])('%j with the value %j is dropped', (name, value) => {
  expect(gradeResponseField(name, value)).toBe(FieldGrade.DROPPED);
});

test.each([
  [':path', '/'],
  [':', ''],
  ['X-One', 'a'],
  ['connection', 'close'],
  ['keep-alive', 'timeout=5'],
  ['proxy-connection', 'close'],
  ['transfer-encoding', 'chunked'],
  ['upgrade', 'h2c'],
  ['te', 'gzip'],
  ['content-length', '5\r\n'],
])('"%s: %s" makes its section malformed', (name, value) => {
  expect(gradeResponseField(name, value)).toBe(FieldGrade.MALFORMED);
});

test('the status of a response is one', () => {
  expect(gradeResponseField(':status', '200')).toBe(FieldGrade.STATUS);
});

const { FIELD, MALFORMED } = FieldGrade;

test.each<[string, string, FieldGrade]>([
  ['x-one', 'a value', FIELD],
  ['te', 'trailers', FIELD],
  ['te', 'gzip', MALFORMED],
  ['x-one', 'a\0b', MALFORMED],
  ['x-one', 'a\t', MALFORMED],
  ['x one', 'x', MALFORMED],
  ['X-One', 'x', MALFORMED],
  ['upgrade', 'h2c', MALFORMED],
  ['content-length', '15', FieldGrade.LENGTH],
  ['content-length', '1e3', MALFORMED],
  ['priority', 'u=1', FieldGrade.PRIORITY],
  [':method', 'GET', FieldGrade.METHOD],
  [':scheme', 'https', FieldGrade.SCHEME],
  [':scheme', 'h;p', MALFORMED],
  [':protocol', 'websocket', FieldGrade.PROTOCOL],
  [':path', '/', FieldGrade.PATH],
  [':path', '', MALFORMED],
  [':path', '/ ', MALFORMED],
  [':authority', '', FieldGrade.AUTHORITY],
  [':status', '200', MALFORMED],
])('the grade of "%s: %s" in a request', (name, value, grade) => {
  expect(gradeRequestField(name, value)).toBe(grade);
});
