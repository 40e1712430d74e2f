import { expect, test } from 'vitest';
import { protocolOf } from '../../../../src/edge/server/stages.ts';

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const of = (text: string) => protocolOf(Buffer.from(text, 'latin1'));

test('the preface of HTTP/2 is told from every beginning of HTTP/1.1 at the first byte that differs', () => {
  expect(of(PREFACE)).toBe('h2');
  expect(of(`${PREFACE}more`)).toBe('h2');
  for (const text of ['G', 'PROPFIND', 'PRI *', 'PU', '\r\n', PREFACE.replace('SM', 'SN')])
    expect(of(text), text).toBe(PREFACE.startsWith(text) ? null : 'http1');
});

test('a part of the preface says nothing yet', () => {
  for (let length = 0; length < PREFACE.length; length++) expect(of(PREFACE.slice(0, length))).toBeNull();
});
