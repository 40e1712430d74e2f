import { expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/index.ts';
import { ApiClient } from '../support/admin-api.ts';
import { startLimited } from '../support/limits.ts';

const LIMITS = {
  buckets: { things: { main: 'id', user: '5/5s', resource: '9/5s', enforce: '50%' } },
  routes: { 'GET /things/{id}': 'things' },
  never_restrict: ['192.0.2.0/24'],
};

/** Words of the command line, and the query that asks the same. */
const ASKED: readonly (readonly [string, readonly string[], Readonly<Record<string, string>>])[] = [
  ['a request', ['GET', '/things/a%20b?x=1'], { method: 'GET', path: '/things/a%20b?x=1' }],
  ['a request that is refused', ['GET', '/open/a;b'], { method: 'GET', path: '/open/a;b' }],
  ['a class', ['GET', '/things/7', '--as', 'user'], { method: 'GET', path: '/things/7', as: 'user' }],
  [
    'a caller',
    ['GET', '/things/7', '--client', 'app', '--subject', 'alice'],
    { method: 'GET', path: '/things/7', client: 'app', subject: 'alice' },
  ],
  [
    'an address',
    ['GET', '/open/7', '--as', 'address:2001:db8::7'],
    { method: 'GET', path: '/open/7', as: 'address', address: '2001:db8::7' },
  ],
  [
    'an address that is never restricted',
    ['GET', '/things/7', '--address', '192.0.2.7'],
    { method: 'GET', path: '/things/7', address: '192.0.2.7' },
  ],
  ['a call', ['GRPC', 'demo.Echo/Say'], { method: 'GRPC', path: 'demo.Echo/Say' }],
];

const WRONG: readonly Readonly<Record<string, string>>[] = [
  {},
  { method: 'GET' },
  { method: 'get', path: '/' },
  { method: 'GET', path: '/', as: 'nobody' },
  { method: 'GET', path: '/', address: 'home' },
  { method: 'GET', path: '/', subject: 'alice' },
  { method: 'GET', path: '/', client: 'app', subject: 'alice', as: 'address' },
  { method: 'GET', path: '/', to: 'me' },
];

/** On loopback reading needs no token. */
const OPEN = { token: null };

test('/api/explain says what weir explain says, and takes nothing that it does not know', async () => {
  const { gateway } = await startLimited(LIMITS);
  const api = await ApiClient.of(gateway);
  for (const [what, words, query] of ASKED) {
    const out: string[] = [];
    const terminal = { env: process.env, out: (text: string) => out.push(text), err: () => {} };
    await runCommandLine(['explain', ...words, '--format', 'json', '--config', gateway.configFile], terminal);
    const { status, body } = await api.call('GET', `/api/explain?${new URLSearchParams(query)}`, OPEN);
    expect([status, body], what).toEqual([200, JSON.parse(out.join(''))]);
  }
  for (const query of WRONG) {
    const asked = String(new URLSearchParams(query));
    expect((await api.call('GET', `/api/explain?${asked}`, OPEN)).status, asked).toBe(400);
  }
});
