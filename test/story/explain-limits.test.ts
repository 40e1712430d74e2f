import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/index.ts';
import { principalOf } from '../../src/identity/auth/index.ts';
import { CallerShare } from '../../src/limits/index.ts';
import { tempFolder } from '../support/temp.ts';

const GATEWAY = `identity_provider: { issuer: "https://id.example.com", client_id: gateway, client_authentication: none, redirect_uri: "https://app.example.com/cb" }
access_tokens: { audience: any, bots: { claim: client_id } }
upstreams: { api: { url: "http://api:3000" } }
routes:
  - { path: "/v1/**", upstream: api }
  - { path: "/v1/feeds/{feed_id}", upstream: api, authentication: optional, global_limit: exempt, upstream_429: pass, cors: false }
  - { path: "/v1/hooks/{id}/{token}", upstream: api, authentication: none, webhook: true }
cors: { origins: [https://app.example.com, https://other.example.com] }
limits: limits.yaml
`;

const LIMITS = `global: { bot: 60/1s, user: off }
ignored_refusals: { limit: 100/1m, restrict_for: 90s }
never_restrict: [192.0.2.0/24]
buckets:
  messages:
    main: channel_id
    user: 20/5s
    bot: 50/5s
    resource: 30/10s
  feeds: { address: 10/1m, algorithm: smooth }
  hooks: { user: 7/1h }
routes:
  GET /v1/channels/{channel_id}/messages: messages
  POST /v1/channels/{channel_id}/messages: messages
  GET /v1/feeds/{feed_id}: feeds
  /v1/hooks/{id}/{token}: hooks
`;

/** The facts about limits that the command tells, in one line each: what it is about, and what there is to say. */
async function explain(words: string[], gateway = GATEWAY, limits = LIMITS): Promise<string[]> {
  const folder = await tempFolder();
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, gateway);
  await writeFile(join(folder, 'limits.yaml'), limits);
  const out: string[] = [];
  const err: string[] = [];
  await runCommandLine(['explain', ...words, '--config', file], {
    env: {},
    out: text => out.push(text),
    err: text => err.push(text),
  });
  expect(err).toEqual([]);
  let label = '';
  const facts = out.join('').replaceAll(`${folder}/`, '').split('\n').slice(2, -1);
  const named = facts.map(fact => {
    const [, own = '', text = ''] = /^ {2}(\S+(?: \S+)*)? {2,}(.*)$/.exec(fact) ?? [];
    if (own !== '') label = own;
    return `${label}: ${text}`;
  });
  return named.filter(fact =>
    /^(blocked|bucket|main|scope|as|without|all|caller(?!s)|price|give back|restr|failed|CORS|patience|upstream 4)/.test(
      fact,
    ),
  );
}

describe('weir explain, of limits', () => {
  it('lists each limit on a request for each class of callers, and where it is written', async () => {
    expect(await explain(['GET', '/v1/channels/a%20b/messages'])).toEqual([
      'upstream 429: rewritten unless clients of the gateway understand it',
      'bucket: messages (limits.yaml:5)',
      'bucket: by the line "GET /v1/channels/{channel_id}/messages" (limits.yaml:13)',
      'main parameter: channel_id = a b; each value is counted separately',
      expect.stringMatching(/^bucket hash: [0-9a-f]{32}$/),
      'scope: shared: several lines use the bucket',
      'as a user: global limit: off (limits.yaml:1)',
      'as a user: bucket: 20 in 5s, fixed window (limits.yaml:7)',
      'as a bot: global limit: 60 in 1s (limits.yaml:1)',
      'as a bot: bucket: 50 in 5s, fixed window (limits.yaml:8)',
      'without a token: global limit: 50 in 1s (the default)',
      'without a token: then 401; only callers with a token use the bucket',
      'all together: bucket: 30 in 10s for channel_id = a b, fixed window (limits.yaml:9)',
      'restrictions: the address for 10m, after more than 10000 of its requests in 10m ended with 401, 403 or 429 (the default)',
      'restrictions: a bot or user for 90s, after more than 100 of its requests in 1m came before the Retry-After of a 429 was over (limits.yaml:2)',
      'failed tokens: 1000 in 1m per address; then 429 for most of its unknown tokens until the period is over (the default)',
      'CORS: the gateway answers preflights, on a counter of their own; allowed origins: https://app.example.com, https://other.example.com',
    ]);
  });

  it('shows windows of the calendar with their zone, what costs count, what is given back, and the price', async () => {
    const limits = `time_zone: Europe/Berlin
global: off
buckets:
  all: { user: [5/1s, 1000/month, { limit: 500/day, unit: cost }], give_back: [2xx, 503] }
routes: { "/v1/**": { bucket: all, cost: { response_field: X-Usage, reserve: 7, most: 90, pass: true } } }
`;
    const facts = await explain(['GET', '/v1/x'], GATEWAY, limits);
    expect(facts).toContain(
      'as a user: bucket: 5 in 1s and 1000 a month (Europe/Berlin) and a cost of 500 a day (Europe/Berlin), fixed window (limits.yaml:4)',
    );
    expect(facts).toContain(
      'price: what x-usage of the response says, at most 90: 7 of each quota with "unit: cost" are drawn at first, and one of every other (limits.yaml:5)',
    );
    expect(facts).toContain('give back: a request that is answered 2xx, 503 is given back (limits.yaml:4)');
  });

  it('needs no variable that holds a secret', async () => {
    const secret = GATEWAY.replace('client_authentication: none', `client_secret: "\${UNSET}"`);
    expect(secret).not.toBe(GATEWAY);
    expect(await explain(['GET', '/v1/feeds'], secret)).toEqual(await explain(['GET', '/v1/feeds']));
  });

  it('says that requests are held where there is patience, and nothing where there is none', async () => {
    const of = async (limits: string) =>
      (await explain(['GET', '/v1/feeds'], GATEWAY, limits)).filter(fact => fact.startsWith('patience'));
    expect(await of('global: off\npatience: 50ms\n')).toEqual([
      'patience: held instead of refused where the wait is at most 50ms (limits.yaml:2)',
    ]);
    expect(await of('global: off\n')).toEqual([]);
  });

  it('shows the policies that responses tell, where they do', async () => {
    const of = async (limits: string) =>
      (await explain(['GET', '/v1/channels/7/messages'], GATEWAY, limits)).filter(fact =>
        fact.includes('RateLimit-Policy'),
      );
    expect(await of(LIMITS)).toEqual([]);
    expect(await of(`headers: [x-ratelimit, ratelimit]\n${LIMITS}`)).toEqual([
      'as a user: RateLimit-Policy: "messages";q=20;w=5, "messages/resource";q=30;w=10 (limits.yaml:1)',
      'as a bot: RateLimit-Policy: "messages";q=50;w=5, "messages/resource";q=30;w=10, "global";q=60;w=1 (limits.yaml:1)',
    ]);
  });

  it('shows where the global limit of each class is written', async () => {
    const of = async (limits: string) =>
      (await explain(['GET', '/v1/feeds'], GATEWAY, limits)).filter(fact => fact.includes('global limit'));
    expect(await of('keys_per_caller: 9\nglobal:\n  bot: 60/1s\n  address: off\n')).toEqual([
      'as a user: global limit: 50 in 1s (the default)',
      'as a bot: global limit: 60 in 1s (limits.yaml:3)',
      'without a token: global limit: off (limits.yaml:4)',
    ]);
    expect(await of('keys_per_caller: 9\nglobal: off\n')).toEqual([
      'as a user: global limit: off (limits.yaml:2)',
      'as a bot: global limit: off (limits.yaml:2)',
      'without a token: global limit: off (limits.yaml:2)',
    ]);
  });

  it('shows the policies of a route for the global limit, 429s and browsers, and classes without a quota', async () => {
    const facts = await explain(['HEAD', '/v1/feeds/7']);
    expect(facts.slice(0, 11)).toEqual([
      'upstream 429: passed on unchanged',
      'bucket: feeds (limits.yaml:10)',
      'bucket: by the line "GET /v1/feeds/{feed_id}" (limits.yaml:15)',
      expect.stringMatching(/^bucket hash: /),
      'scope: user: one line uses the bucket',
      'as a user: global limit: none, the route is exempt from it',
      'as a user: bucket: not limited: it has no quota for users',
      'as a bot: global limit: none, the route is exempt from it',
      'as a bot: bucket: not limited: it has no quota for bots',
      'as an address: global limit: none, the route is exempt from it',
      'as an address: bucket: 10 in 1m, smooth (limits.yaml:10)',
    ]);
    expect(facts.at(-1)).toBe(
      'CORS: left to the upstream: every preflight reaches it, as OPTIONS and without a token',
    );
  });

  it('shows which class stands in for one without a quota, and the restrictions of webhooks', async () => {
    const facts = await explain(['POST', '/v1/hooks/1/secret']);
    expect(facts).toContain(
      'as an address: bucket: 7 in 1h, fixed window, as for users: it has no quota for addresses (limits.yaml:11)',
    );
    expect(facts).toContain(
      'restrictions: the address on this webhook for 10m, after more than 10 of its requests in 10m got 404 (the default)',
    );
    expect(facts.join('\n')).not.toMatch(/as a |without a token|failed tokens/);
  });

  it('says that nothing but the global limit counts where no line takes a request', async () => {
    expect(await explain(['DELETE', '/v1/channels/7/messages', '--as', 'bot'])).toEqual(
      expect.arrayContaining([
        'bucket: none: no line of "routes" in limits.yaml matches',
        'as a bot: global limit: 60 in 1s (limits.yaml:1)',
      ]),
    );
  });

  const CALLERS = (facts: readonly string[]) => facts.filter(fact => /^(as|without|caller)/.test(fact));

  it.each<[string, string, string[]]>([
    ['user', '/v1/feeds/7', ['as a user']],
    ['bot', '/v1/feeds/7', ['as a bot']],
    ['address', '/v1/feeds/7', ['as an address']],
    ['address', '/v1/channels/7/messages', ['without a token']],
    ['user', '/v1/channels/7/messages', ['as a user']],
    ['bot', '/v1/hooks/1/x', ['caller', 'as an address']],
  ])('shows with --as %s for %s only the limits of %j', async (as, path, labels) => {
    const facts = CALLERS(await explain(['GET', path, '--as', as]));
    expect([...new Set(facts.map(fact => fact.replace(/:.*/, '')))]).toEqual(labels);
  });

  it('says as what a caller counts whose class a route cannot have', async () => {
    expect(await explain(['GET', '/v1/hooks/1/x', '--as', 'bot'])).toContain(
      'caller: the route ignores tokens, so a bot counts as its address',
    );
    const withoutBots = GATEWAY.replace(', bots: { claim: client_id }', '');
    const limits = LIMITS.replace('    bot: 50/5s\n', '');
    expect(
      CALLERS(await explain(['GET', '/v1/channels/7/messages', '--as', 'bot'], withoutBots, limits)),
    ).toEqual([
      'caller: there is no rule for "bots": a bot counts as a user',
      'as a user: global limit: off (limits.yaml:1)',
      'as a user: bucket: 20 in 5s, fixed window (limits.yaml:7)',
    ]);
  });

  it('says that an address is never restricted', async () => {
    const facts = await explain(['GET', '/v1/feeds/7', '--as', 'address:192.0.2.7']);
    expect(facts.filter(fact => fact.startsWith('restrictions'))).toEqual([
      'restrictions: none: 192.0.2.7 is among never_restrict (limits.yaml:3)',
    ]);
    const byToken = await explain(['GET', '/v1/feeds/7', '--address', '192.0.2.7']);
    expect(byToken.filter(fact => fact.startsWith('restrictions'))).toEqual([
      'restrictions: 192.0.2.7 is among never_restrict (limits.yaml:3)',
      'restrictions: a bot or user for 90s, after more than 100 of its requests in 1m from other addresses came before the Retry-After of a 429 was over (limits.yaml:2)',
    ]);
    const others = await explain(['GET', '/v1/feeds/7', '--address', '198.51.100.7']);
    expect(others.join('\n')).toContain('restrictions: the address for 10m');
  });

  it('says who is blocked, unless never_restrict spares them, where the route knows them', async () => {
    const limits = `blocked: { addresses: [203.0.113.0/24], callers: [{ client: web, subject: mallory }, { client: web, subject: eve }] }
never_restrict: [192.0.2.0/24, { client: web, subject: eve }, { client: web, subject: alice }]
`;
    const restrictions = async (path: string, ...words: string[]) => {
      const facts = await explain(['GET', path, ...words], GATEWAY, limits);
      return facts.find(fact => /^(?:blocked|restrictions): /.test(fact));
    };
    const by = (subject: string) => ['--client', 'web', '--subject', subject];
    const blocked = 'blocked: the caller is blocked: everything from it gets 429 (limits.yaml:1)';
    expect(await restrictions('/v1/a', ...by('mallory'))).toBe(blocked);
    expect(await restrictions('/v1/a', ...by('mallory'), '--address', '192.0.2.7')).toBe(blocked);
    const spared = 'restrictions: the caller is among never_restrict (limits.yaml:2)';
    expect(await restrictions('/v1/a', ...by('eve'))).toBe(spared);
    expect(await restrictions('/v1/a', ...by('alice'))).toBe(spared);
    const both = await restrictions('/v1/a', ...by('alice'), '--address', '192.0.2.7');
    expect(both).toBe('restrictions: none: the caller is among never_restrict (limits.yaml:2)');
    const address = 'blocked: 203.0.113.7 is blocked: everything from it gets 429 (limits.yaml:1)';
    expect(await restrictions('/v1/a', ...by('alice'), '--address', '203.0.113.7')).toBe(address);
    const rule = /^restrictions: the address for 10m, after/;
    expect(await restrictions('/v1/a', ...by('bob'))).toMatch(rule);
    expect(await restrictions('/v1/hooks/1/2', ...by('mallory'))).toMatch(rule);
  });

  it('says which rules are left where the caller or the address is never restricted', async () => {
    const restrictions = async (list: string, path: string, ...words: string[]) => {
      const limits = `ignored_refusals: { limit: 100/1m, addresses: true }\nnever_restrict: [${list}]\n`;
      const facts = await explain(['GET', path, ...words], GATEWAY, limits);
      const found = facts.filter(fact => fact.startsWith('restrictions'));
      return found.map(
        fact => / none: /.exec(fact)?.[0] ?? / (.*?)(?: for|, after| is among|$)/.exec(fact)?.[1],
      );
    };
    const caller = '{ client: web, subject: alice }';
    const asAlice = ['--client', 'web', '--subject', 'alice'];
    expect(await restrictions(caller, '/v1/feeds/7', ...asAlice)).toEqual(['the caller', 'the address']);
    expect(await restrictions(caller, '/v1/feeds/7')).toEqual(['the address', 'the caller']);
    expect(await restrictions(caller, '/v1/hooks/1/2', ...asAlice)).toEqual([
      ...['the address', 'the address on this webhook', 'the address'],
    ]);
    const spared = ['192.0.2.0/24', '/v1/feeds/7', '--address', '192.0.2.7'] as const;
    expect(await restrictions(...spared)).toEqual(['192.0.2.7', 'a bot or user']);
    expect(await restrictions(...spared, '--as', 'address')).toEqual([' none: ']);
    expect(await restrictions('192.0.2.0/24', '/v1/hooks/1/2', '--address', '192.0.2.7')).toEqual([
      ' none: ',
    ]);
  });

  it('shows the hash that clients see, and where the scope is written', async () => {
    const hashOf = async (path: string, limits: string) =>
      (await explain(['GET', path], GATEWAY, limits)).find(fact => fact.startsWith('bucket hash'));
    const byRoute = `bucket_hash: route\n${LIMITS}`;
    expect(await hashOf('/v1/channels/7/messages', LIMITS)).not.toBe(
      await hashOf('/v1/channels/8/messages', LIMITS),
    );
    expect(await hashOf('/v1/channels/7/messages', byRoute)).toBe(
      await hashOf('/v1/channels/8/messages', byRoute),
    );
    const limits = LIMITS.replace('    main: channel_id\n', '    main: channel_id\n    scope: user\n');
    expect(await explain(['GET', '/v1/channels/7/messages'], GATEWAY, limits)).toContain(
      'scope: user: set by the bucket (limits.yaml:7)',
    );
  });
});

it('weir explain shows what holds and what is in shadow', async () => {
  const limits = `global: { bot: off, user: 50/1s, address: 9/1s, shadow: { bot: 30/1s } }
buckets:
  tried: { main: id, user: 5/5s, resource: 50/5s, shadow: true }
  beside: { main: id, user: 20/5s, bot: 50/5s, shadow: { user: 10/5s, resource: 9/5s } }
  share: { user: 5/5s, enforce: 10% }
  both: { main: id, user: 20/5s, resource: 90/5s, shadow: { user: 10/5s }, enforce: 10% }
routes:
  /v1/tried/{id}: tried
  /v1/beside/{id}: beside
  /v1/share/{id}: share
  /v1/both/{id}: both
`;
  const rowsOf = async (name: string, as: string) => {
    const rows = await explain(['GET', `/v1/${name}/7`, '--as', as], GATEWAY, limits);
    return rows.filter(row => /shadow|(as|together).*bucket:/.test(row));
  };
  expect(await rowsOf('tried', 'user')).toEqual([
    'as a user: bucket: 5 in 5s, fixed window, in shadow: it refuses nobody (limits.yaml:3)',
    'all together: bucket: 50 in 5s for id = 7, fixed window, in shadow: it refuses nobody (limits.yaml:3)',
  ]);
  expect(await rowsOf('beside', 'user')).toEqual([
    'as a user: bucket: 20 in 5s, fixed window (limits.yaml:4)',
    'as a user: bucket: 10 in 5s, fixed window, in shadow: it refuses nobody (limits.yaml:4)',
    'all together: bucket: 9 in 5s for id = 7, fixed window, in shadow: it refuses nobody (limits.yaml:4)',
  ]);
  expect(await rowsOf('beside', 'bot')).toEqual([
    'as a bot: global limit: 30 in 1s, in shadow: it refuses nobody (limits.yaml:1)',
    'as a bot: bucket: 50 in 5s, fixed window (limits.yaml:4)',
    'all together: bucket: 9 in 5s for id = 7, fixed window, in shadow: it refuses nobody (limits.yaml:4)',
  ]);
  expect(await rowsOf('share', 'user')).toEqual([
    'bucket: applies to 10% of callers, and is in shadow for the others, so it does not limit them (limits.yaml:5)',
    'as a user: bucket: 5 in 5s, fixed window (limits.yaml:5)',
  ]);
  expect(await rowsOf('both', 'user')).toEqual([
    'bucket: tries its numbers in "shadow" on 10% of callers; those in force apply to the others (limits.yaml:6)',
    'as a user: bucket: 10 in 5s, fixed window, for 10% of callers (limits.yaml:6)',
    'as a user: bucket: 20 in 5s, fixed window, for the others (limits.yaml:6)',
    'as a user: bucket: 10 in 5s, fixed window, for the others, in shadow: it refuses nobody (limits.yaml:6)',
    'all together: bucket: 90 in 5s for id = 7, fixed window, for 10% of callers (limits.yaml:6)',
    'all together: bucket: 90 in 5s for id = 7, fixed window, for the others (limits.yaml:6)',
  ]);
  const share = new CallerShare('share', 10);
  const ofCaller = async (inside: boolean) => {
    const subjects = Array.from({ length: 100 }, (_, n) => `u${n}`);
    const subject =
      subjects.find(each => share.includes(principalOf('user', ['web', each])) === inside) ?? '';
    const rows = await explain(
      ['GET', '/v1/share/7', '--client', 'web', '--subject', subject],
      GATEWAY,
      limits,
    );
    return rows.filter(row => /^as .*bucket:/.test(row));
  };
  expect(await ofCaller(true)).toEqual([
    'as a user: bucket: this caller is among the 10% that it limits',
    'as a user: bucket: 5 in 5s, fixed window (limits.yaml:5)',
  ]);
  expect(await ofCaller(false)).toEqual([
    'as a user: bucket: this caller is not among the 10% that it limits',
    'as a user: bucket: 5 in 5s, fixed window, in shadow: it refuses nobody (limits.yaml:5)',
  ]);
});
