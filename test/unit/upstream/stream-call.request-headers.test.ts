import { expect, it } from 'vitest';
import { neverIndexedHeaders, originOf, requestSection } from '../../../src/upstream/stream-call.ts';
import { GET } from '../../support/get-request.ts';
import { HandBody } from '../../support/hand-body.ts';

const HTTP = { scheme: 'http', authority: 'upstream.test:81' } as const;
const HTTPS = { scheme: 'https', authority: 'upstream.test' } as const;

it('puts Host in the place of :authority', () => {
  const headers = requestSection({ ...GET, fields: ['X-One', '1', 'hOST', 'a.test'] }, HTTPS);
  expect(headers).toEqual([
    ...[':method', 'GET', ':scheme', 'https', ':authority', 'a.test', ':path', '/'],
    ...['X-One', '1'],
  ]);
});

it('a request over HTTP/2 keeps the mark of a Host that is never indexed', () => {
  const namesOf = (...names: string[]) => [...neverIndexedHeaders({ ...GET, neverIndexed: new Set(names) })];
  expect(namesOf('x-one', 'host')).toEqual(['x-one', 'host', ':authority']);
  expect(namesOf('x-one')).toEqual(['x-one']);
});

it('a request over HTTP/2 names the upstream where Host is empty or missing', () => {
  for (const fields of [['Host', ''], []])
    expect(requestSection({ ...GET, fields }, HTTP).slice(4, 6)).toEqual([':authority', 'upstream.test:81']);
});

it.each([
  ['POST', 0, 'content-length,0'],
  ['GET', 0, ''],
  ['GET', 5, 'content-length,5'],
  ['POST', 'chunked', ''],
] as const)('states the length of the body of a %s of %s as "%s"', (method, bodyLength, stated) => {
  const body = bodyLength === 0 ? null : new HandBody();
  const headers = requestSection({ ...GET, fields: [], method, bodyLength, body }, HTTP);
  expect(headers.slice(8).join()).toBe(stated);
});

it('a request over HTTP/2 says that trailers are taken', () => {
  expect(requestSection({ ...GET, fields: [], takesTrailers: true }, HTTP).slice(8)).toEqual([
    'te',
    'trailers',
  ]);
});

it.each([
  ['a.test', 81, 'a.test:81'],
  ['a.test', 80, 'a.test'],
  ['a.test', 443, 'a.test:443'],
  ['::1', 8080, '[::1]:8080'],
  ['unix:/run/app.sock', 0, 'localhost'],
])('calls an upstream at %s and %i %s', (name, port, authority) => {
  expect(originOf({ name, port, tls: null })).toEqual({ scheme: 'http', authority });
});

it('a request over HTTP/2 leaves out the usual port of https alone', () => {
  const tls = { serverName: null, ca: null, certificate: null, key: null, verify: true };
  expect(originOf({ name: 'a.test', port: 443, tls })).toEqual({ scheme: 'https', authority: 'a.test' });
  expect(originOf({ name: 'a.test', port: 80, tls }).authority).toBe('a.test:80');
});
