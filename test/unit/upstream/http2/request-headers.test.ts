import { expect, it } from 'vitest';
import { requestHeaders } from '../../../../src/upstream/http2/request-headers.ts';
import { GET } from '../../../support/get-request.ts';
import { HandBody } from '../../../support/hand-body.ts';

it('puts Host in the place of :authority', () => {
  const headers = requestHeaders({ ...GET, fields: ['X-One', '1', 'hOST', 'a.test'] }, 'https');
  expect(headers).toEqual([
    ...[':method', 'GET', ':scheme', 'https', ':path', '/'],
    ...['X-One', '1', ':authority', 'a.test'],
  ]);
});

it('leaves the authority to Node where Host is empty', () => {
  expect(requestHeaders({ ...GET, fields: ['Host', ''] }, 'http')).not.toContain(':authority');
});

it.each([
  ['POST', 0, 'content-length,0'],
  ['GET', 0, ''],
  ['GET', 5, 'content-length,5'],
  ['POST', 'chunked', ''],
] as const)('states the length of the body of a %s of %s as "%s"', (method, bodyLength, stated) => {
  const body = bodyLength === 0 ? null : new HandBody();
  const headers = requestHeaders({ ...GET, fields: [], method, bodyLength, body }, 'http');
  expect(headers.slice(6).join()).toBe(stated);
});

it('says that trailers are taken', () => {
  expect(requestHeaders({ ...GET, fields: [], takesTrailers: true }, 'http').slice(6)).toEqual([
    'te',
    'trailers',
  ]);
});
