import { describe, expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/index.ts';
import type { asShape } from '../../src/explain/explanation.ts';
import { ADMIN_TOKEN, ApiClient } from '../support/admin-api.ts';
import { changeLimits, serves } from '../support/edit-config.ts';
import { askTimes, startLimited } from '../support/limits.ts';
import { head } from '../support/requests.ts';
import { tempText } from '../support/temp.ts';

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

/** Runs `weir explain` in this process. */
async function explain(...words: readonly string[]) {
  const [out, err]: string[][] = [[], []];
  const terminal = {
    env: process.env,
    out: (text: string) => out?.push(text),
    err: (text: string) => err?.push(text),
  };
  const code = await runCommandLine(['explain', ...words], terminal);
  return { code, out: out?.join('') ?? '', err: err?.join('') ?? '' };
}

/** A file that says where the admin listener of this gateway is: its own says port 0. */
const adminFileOf = ({ adminPort }: { readonly adminPort: number }) =>
  tempText('gateway.yaml', `listen: { admin: "127.0.0.1:${adminPort}" }\n`);

/** On loopback reading needs no token. */
const OPEN = { token: null };

test('/api/explain says what weir explain says, and takes nothing that it does not know', async () => {
  const { gateway } = await startLimited(LIMITS);
  const api = await ApiClient.of(gateway);
  for (const [what, words, query] of ASKED) {
    const { out } = await explain(...words, '--format', 'json', '--config', gateway.configFile);
    const { status, body } = await api.call('GET', `/api/explain?${new URLSearchParams(query)}`, OPEN);
    // Only a gateway that runs knows who is restricted now.
    const { facts, ...explanation } = body as ReturnType<typeof asShape>;
    const byConfiguration = {
      ...explanation,
      facts: facts.filter(({ about }) => about !== 'restricted now'),
    };
    expect([status, byConfiguration], what).toEqual([200, JSON.parse(out)]);
    const running = [...words, '--running', '--format', 'json', await adminFileOf(gateway)];
    expect(JSON.parse((await explain(...running)).out), what).toEqual(body);
  }
  for (const query of WRONG) {
    const asked = String(new URLSearchParams(query));
    expect((await api.call('GET', `/api/explain?${asked}`, OPEN)).status, asked).toBe(400);
  }
});

describe('a restriction in force', () => {
  const WHO = { client: 'app', subject: 'alice' };
  const words = ['GET', '/a', '--client', WHO.client, '--subject', WHO.subject, '--address', '127.0.0.1'];
  const SINCE = '\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z';

  async function start(address = '127.0.0.1:0') {
    const token_file = await tempText('admin-token', ADMIN_TOKEN);
    const front = await startLimited(
      { invalid_requests: { limit: '2/60s', restrict_for: '10m' }, webhook_not_found: { limit: '1/60s' } },
      {
        config: { listen: { http: '127.0.0.1:0', admin: { address, token_file } } },
        routes: [{ path: '/hooks/{id}', authentication: 'none', webhook: true }],
        upstream: exchange => exchange.answer(404),
      },
    );
    const api = await ApiClient.of(front.gateway);
    const adminFile = await adminFileOf(front.gateway);
    return { ...front, api, running: ['--running', adminFile] };
  }

  test('of an address and of a caller is shown first, with since, until, why and its id', async () => {
    const front = await start();
    const { running, api } = front;
    expect((await explain(...words, ...running)).out).toMatch(/^GET \/a\n\n {2}restricted now +no\n/);
    await askTimes(front, 3, 'GET /a');
    await api.call('POST', '/api/restrictions', { body: { ...WHO, for: '5m' } });
    const { code, out } = await explain(...words, ...running);
    expect(code).toBe(1);
    expect(out).toMatch(
      new RegExp(
        `restricted now +the address, because of invalid_requests, since ${SINCE} until ${SINCE}; id [\\w-]{22}\\n` +
          ` +the caller, by an operator, since ${SINCE} until ${SINCE}; id [\\w-]{22}\\n`,
      ),
    );
    const listed = await api.call('GET', '/api/restrictions');
    for (const { id, since, until } of (listed.body as { restrictions: Record<string, string>[] })
      .restrictions)
      for (const text of [id, since, until]) expect(out).toContain(text);
    const open = await explain('GET', '/open/a', ...words.slice(2, 6), ...running);
    expect(open.out).toContain('the caller (not here: this route ignores tokens), by an operator');
    expect(open.code).toBe(0);
  });

  test('is not needed by who is blocked: that is the first fact, and nothing is served', async () => {
    const { running, api, gateway } = await start();
    await changeLimits(gateway, { blocked: { addresses: ['127.0.0.0/8'] } });
    await serves(gateway, 2);
    const { code, out } = await explain(...words, ...running);
    expect(out).toMatch(/^GET \/a\n\n {2}blocked +127\.0\.0\.1 is blocked: everything from it gets 429 \(/);
    expect(code).toBe(1);
    const read = await api.call('GET', '/api/explain?method=GET&path=/a&address=127.0.0.1');
    expect(read.body).toMatchObject({ served: false });
    const other = await api.call('GET', '/api/explain?method=GET&path=/a&address=192.0.2.7');
    expect(other.body).toMatchObject({ served: true });
  });

  test('of an address is shown for a caller who came from it, by the address', async () => {
    const { running, api, gateway, issuer } = await start();
    const alice = issuer.bearer({ azp: WHO.client, sub: WHO.subject });
    await gateway.ask(head('GET /a', alice));
    await api.call('POST', '/api/restrictions', { body: { address: '127.0.0.1', for: '5m' } });
    const asked = ['GET', '/a', '--client', WHO.client, '--subject', WHO.subject, ...running];
    expect((await explain(...asked)).out).not.toContain('address refused');
    expect((await gateway.ask(head('GET /a', alice))).status).toBe(429);
    const { out } = await explain(...asked);
    expect(out).toMatch(
      new RegExp(
        `restricted now +no\\n +address refused +127\\.0\\.0\\.1, from which the caller came at ${SINCE}\\n`,
      ),
    );
    expect(
      (await explain(...words.slice(0, 2), '--client', 'app', '--subject', 'bob', ...running)).out,
    ).not.toContain('address refused');
  });

  test('on one webhook is shown for that webhook alone', async () => {
    const front = await start();
    await askTimes(front, 2, 'GET /hooks/7');
    const at = (path: string) => explain('GET', path, '--address', '127.0.0.1', ...front.running);
    expect((await at('/hooks/7')).out).toContain('the address on this webhook, because of webhook_not_found');
    expect((await at('/hooks/8')).out).toMatch(/restricted now +no\n/);
  });

  test('is asked for with the token where the listener is not on loopback', async () => {
    const front = await start('0.0.0.0:0');
    const refused = await explain(...words, ...front.running);
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.err).toMatch(/^weir explain: the gateway answered 401: .*--token-file/);
    const token = await tempText('token', `${ADMIN_TOKEN}\n`);
    const shown = await explain(...words, ...front.running, '--token-file', token);
    expect([shown.code, shown.err]).toEqual([0, '']);
    const absent = await explain(...words, ...front.running, '--token-file', '/does/not/exist');
    expect(absent).toMatchObject({ code: 1, err: expect.stringContaining('--token-file /does/not/exist') });
  });

  test('needs a gateway that runs', async () => {
    const file = await tempText('gateway.yaml', 'listen: { admin: "127.0.0.1:1" }\n');
    const { code, err } = await explain(...words, '--running', file);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('no response from 127.0.0.1:1 (listen.admin of '),
    ]);
    expect((await explain(...words, '--token-file', 'x')).code).toBe(64);
  });
});
