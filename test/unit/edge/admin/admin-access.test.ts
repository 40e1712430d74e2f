import { createHash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, test } from 'vitest';
import { AdminAccess } from '../../../../src/edge/admin/admin-access.ts';

const TOKEN = 'k'.repeat(32);
const RIGHT = { authorization: `Bearer ${TOKEN}` };
const WRONG = { authorization: `Bearer ${'w'.repeat(32)}` };

function newAccess({ bound = '0.0.0.0', token = TOKEN as string | null } = {}) {
  const clock = { nowMs: 0, epochMs: () => 0, monotonicMs: () => clock.nowMs };
  const refusals: string[] = [];
  const listener = {
    refused: (why: string, address: string) => void refusals.push(`${why} ${address}`),
    changed: () => {},
    failed: () => {},
  };
  const access = new AdminAccess({ clock, randomBytes, listener });
  access.use(token === null ? null : createHash('sha256').update(token).digest());
  access.bound(bound);
  return { access, clock, refusals };
}

function request(headers: IncomingHttpHeaders = {}, remoteAddress = '192.0.2.7') {
  return { headers: { host: 'localhost:9090', ...headers }, socket: { remoteAddress } };
}

function statusOf(access: ReturnType<AdminAccess['toRead']>): number {
  return access?.status ?? 200;
}

describe('on an address that others reach', () => {
  test('reading and changing take the token, under any case of "Bearer"', () => {
    const { access } = newAccess();
    for (const authorization of [RIGHT.authorization, `bearer  ${TOKEN}`]) {
      expect(statusOf(access.toRead(request({ authorization })))).toBe(200);
      expect(statusOf(access.toChange(request({ authorization })))).toBe(200);
      expect(access.mayShowCallers(request({ authorization }))).toBe(true);
    }
  });

  test.each([
    ['no token', {}],
    ['a wrong one', WRONG],
    ['one that goes on', { authorization: `${RIGHT.authorization}x` }],
    ['another scheme', { authorization: `Basic ${TOKEN}` }],
    ['the scheme alone', { authorization: 'Bearer ' }],
  ])('%s gets 401 and is shown no caller', (_what, headers) => {
    const { access } = newAccess();
    expect(statusOf(access.toRead(request(headers)))).toBe(401);
    expect(statusOf(access.toChange(request(headers)))).toBe(401);
    expect(access.mayShowCallers(request(headers))).toBe(false);
  });

  test('without a configured token everything is refused, whatever is sent', () => {
    const { access } = newAccess({ token: null });
    expect(statusOf(access.toRead(request(RIGHT)))).toBe(403);
    expect(statusOf(access.toChange(request({ authorization: 'Bearer ' })))).toBe(403);
    expect(access.mayShowCallers(request(RIGHT))).toBe(false);
  });

  test('a replaced token no longer counts', () => {
    const { access } = newAccess();
    access.use(createHash('sha256').update('n'.repeat(32)).digest());
    expect(statusOf(access.toChange(request(RIGHT)))).toBe(401);
  });
});

describe('on loopback', () => {
  test.each(['127.0.0.1', '127.8.9.10', '::1'])('reading on %s needs no token, changing does', bound => {
    const { access } = newAccess({ bound });
    expect(statusOf(access.toRead(request()))).toBe(200);
    expect(access.mayShowCallers(request())).toBe(true);
    expect(statusOf(access.toChange(request()))).toBe(401);
  });

  test.each(['localhost', 'LOCALHOST:80', '127.0.0.1:9090', '127.0.0.2', '[::1]:9090', '[::1]'])(
    'a host of %s is this machine',
    host => expect(statusOf(newAccess({ bound: '::1' }).access.toRead(request({ host })))).toBe(200),
  );

  test.each(['evil.test', 'localhost.evil.test', '127.0.0.1.evil.test', '', '192.0.2.1:9090', '[::2]'])(
    'a host of "%s", which may be a page that leads its own name here, is refused',
    host => {
      const { access } = newAccess({ bound: '127.0.0.1' });
      expect(statusOf(access.toRead(request({ host })))).toBe(403);
      expect(access.mayShowCallers(request({ host }))).toBe(false);
      // No page knows the token.
      expect(statusOf(access.toRead(request({ host, ...RIGHT })))).toBe(200);
    },
  );

  test.each(['evil.test', 'localhost.evil.test:9090', '127.0.0.1.evil.test', '', 'a,b'])(
    'a host of "%s" may not even see what is open, unless with the token',
    host => {
      const { access, refusals } = newAccess({ bound: '127.0.0.1' });
      expect(statusOf(access.toOpen(request({ host })))).toBe(403);
      expect(statusOf(access.toOpen(request({ host, ...WRONG })))).toBe(401);
      expect(statusOf(access.toOpen(request({ host, ...RIGHT })))).toBe(200);
      expect(refusals).toEqual(['foreign_origin 192.0.2.7', 'wrong_token 192.0.2.7']);
      expect(statusOf(newAccess().access.toOpen(request({ host })))).toBe(200);
    },
  );

  test.each(['localhost:9090', '127.0.0.1', '[::1]:9090', '10.0.0.7:9090', '[2001:db8::1]', undefined])(
    'a host of %s, which no page can have as its own name, may see what is open',
    host => {
      const { access } = newAccess({ bound: '127.0.0.1' });
      expect(statusOf(access.toOpen({ headers: { host }, socket: {} }))).toBe(200);
    },
  );

  test('a wrong token is wrong also where none is needed', () => {
    const { access } = newAccess({ bound: '127.0.0.1' });
    expect(statusOf(access.toRead(request(WRONG)))).toBe(401);
    expect(access.mayShowCallers(request(WRONG))).toBe(false);
  });
});

describe('a browser', () => {
  test.each<[string, IncomingHttpHeaders]>([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another host of the site', { 'sec-fetch-site': 'same-site' }],
    ['an origin, where the browser is old', { origin: 'http://evil.test' }],
    ['another port', { origin: 'http://localhost:8080' }],
    ['a page without an origin', { origin: 'null' }],
  ])('of %s may neither read nor change, even with the token', (_what, headers) => {
    const { access } = newAccess({ bound: '127.0.0.1' });
    expect(statusOf(access.toRead(request(headers)))).toBe(403);
    expect(statusOf(access.toChange(request({ ...headers, ...RIGHT })))).toBe(403);
    expect(access.mayShowCallers(request(headers))).toBe(false);
  });

  test.each<[string, IncomingHttpHeaders]>([
    ['of the same origin', { 'sec-fetch-site': 'same-origin', origin: 'http://localhost:9090' }],
    ['whose person typed the address', { 'sec-fetch-site': 'none' }],
  ])('%s may', (_what, headers) => {
    const { access } = newAccess({ bound: '127.0.0.1' });
    expect(statusOf(access.toRead(request(headers)))).toBe(200);
    expect(statusOf(access.toChange(request({ ...headers, ...RIGHT })))).toBe(200);
  });
});

describe('wrong tokens', () => {
  test('of one address are refused after ten, the right one too, until a minute is over', () => {
    const { access, clock } = newAccess();
    for (let i = 0; i < 10; i++) expect(statusOf(access.toChange(request(WRONG)))).toBe(401);
    for (const headers of [WRONG, RIGHT]) {
      const refused = access.toChange(request(headers));
      expect(refused).toMatchObject({ status: 429, fields: ['Retry-After', '60'] });
    }
    expect(statusOf(access.toChange(request(RIGHT, '192.0.2.8')))).toBe(200);
    clock.nowMs = 60_000;
    expect(statusOf(access.toChange(request(RIGHT)))).toBe(200);
  });

  test('of one IPv6 network count together', () => {
    const { access } = newAccess();
    for (let i = 0; i < 10; i++) access.toChange(request(WRONG, `2001:db8::${i}`));
    expect(statusOf(access.toChange(request(RIGHT, '2001:db8::ff')))).toBe(429);
  });

  test('of more addresses than are remembered shut nobody else out', () => {
    const { access } = newAccess();
    for (let i = 0; i < 3_000; i++) access.toChange(request(WRONG, `10.0.${i >> 8}.${i & 255}`));
    for (let i = 0; i < 3_000; i++) access.toChange(request(WRONG, `10.0.${i >> 8}.${i & 255}`));
    expect(statusOf(access.toChange(request(RIGHT, '192.0.2.9')))).toBe(200);
  });
});

test('a refusal is told to the listener, with the reason and the address', () => {
  const { access, refusals } = newAccess();
  access.toChange(request(WRONG, '::ffff:192.0.2.7'));
  access.toChange(request());
  access.toRead(request({ origin: 'http://evil.test' }));
  expect(refusals).toEqual(['wrong_token 192.0.2.7', 'no_token 192.0.2.7', 'foreign_origin 192.0.2.7']);
  // The status is open to everyone, so to look at it is no offence.
  access.mayShowCallers(request());
  expect(refusals).toHaveLength(3);
});
