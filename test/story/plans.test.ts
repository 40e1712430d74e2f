import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { runCommandLine } from '../../src/cli/index.ts';
import { loadLimits } from '../../src/config/index.ts';
import { replayLogs } from '../../src/simulation/index.ts';
import { changeConfig, changeLimits, configPart, serves } from '../support/edit-config.ts';
import { startGateway } from '../support/gateway.ts';
import { accessLines, startGatewayOf } from '../support/identity-gateway.ts';

import { head } from '../support/requests.ts';
import { tempText } from '../support/temp.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { header, names, type Response, startUpstream } from '../support/wire/index.ts';

type Claims = Readonly<Record<string, unknown>>;

const CLASSES = {
  partner: { claim: 'plan', value: 'partner', callers: [{ client: 'web', subject: 'carol' }] },
  gold: { claim: 'plan' },
};

async function front(settings: Parameters<typeof startGatewayOf>[1] = {}) {
  const issuer = await startIssuer();
  const { tokens, ...more } = settings;
  const started = await startGatewayOf(issuer, { tokens: { classes: CLASSES, ...tokens }, ...more });
  const ask = (target: string, claims: Claims = {}) =>
    started.gateway.ask(head(`GET ${target}`, issuer.bearer(claims)));
  return { issuer, ask, ...started };
}

/** Limit and Remaining of a response. */
function told(response: Response): string {
  return `${header(response, 'x-ratelimit-limit')} ${header(response, 'x-ratelimit-remaining')}`;
}

describe('a class of callers', () => {
  const limits = {
    buckets: { orders: { user: '10/1m', bot: '20/1m', classes: { partner: '100/1m' } } },
    routes: { '/orders': 'orders' },
  };

  it('has numbers of its own, for the callers that its claim marks and those that it lists', async () => {
    const { ask } = await front({ limits });
    expect(told(await ask('/orders', { sub: 'alice' }))).toBe('10 9');
    expect(told(await ask('/orders', { sub: 'paul', plan: 'partner' }))).toBe('100 99');
    expect(told(await ask('/orders', { sub: 'pia', plan: ['basic', 'partner'] }))).toBe('100 99');
    expect(told(await ask('/orders', { azp: 'web', sub: 'carol' }))).toBe('100 99');
    expect(told(await ask('/orders', { azp: 'other', sub: 'carol' }))).toBe('10 9');
  });

  it('goes before bots, and has the numbers of users where it has none of its own', async () => {
    const { ask } = await front({ limits });
    const bot = { azp: 'job', client_id: 'job' };
    expect(told(await ask('/orders', bot))).toBe('20 19');
    expect(told(await ask('/orders', { ...bot, azp: 'job-2', plan: 'gold' }))).toBe('10 9');
  });

  it('is the first that fits, and leaves the caller and what it has drawn as they are', async () => {
    const { ask, gateway } = await front({ limits });
    expect(told(await ask('/orders', { sub: 'alice' }))).toBe('10 9');
    expect(told(await ask('/orders', { sub: 'alice', plan: 'partner' }))).toBe('100 98');
    expect(told(await ask('/orders', { sub: 'alice', plan: 'gold' }))).toBe('10 7');
    const lines = accessLines(gateway);
    expect(lines.map(line => line['class'])).toEqual(['user', 'partner', 'gold']);
    expect(new Set(lines.map(line => line['caller'])).size).toBe(1);
  });

  it('has a global limit of its own', async () => {
    const { ask } = await front({
      limits: { global: { user: '1/1m', classes: { partner: '3/1m', gold: 'off' } } },
    });
    const statuses = async (claims: Claims) => {
      const all: number[] = [];
      for (let i = 0; i < 4; i++) all.push((await ask('/', claims)).status);
      return all;
    };
    expect(await statuses({ sub: 'alice' })).toEqual([200, 429, 429, 429]);
    expect(await statuses({ sub: 'paul', plan: 'partner' })).toEqual([200, 200, 200, 429]);
    expect(await statuses({ sub: 'greta', plan: 'gold' })).toEqual([200, 200, 200, 200]);
  });

  it('is tried in shadow, and enforced for a share of callers', async () => {
    const bucket = { user: '10/1m', classes: { partner: '5/1m' }, shadow: { classes: { partner: '1/1m' } } };
    const { ask, gateway } = await front({
      limits: {
        buckets: { orders: bucket, share: { ...bucket, enforce: '50%' } },
        routes: { '/orders': 'orders', '/share': 'share' },
      },
    });
    for (let i = 0; i < 2; i++) expect((await ask('/orders', { plan: 'partner' })).status).toBe(200);
    expect((await gateway.admin('/metrics')).text).toContain(
      'weir_shadow_refused_total{bucket="orders",class="partner",limit="caller"} 1',
    );
    const limitsOf = async (claims: Claims) => header(await ask('/share', claims), 'x-ratelimit-limit');
    const users = Array.from({ length: 20 }, (_, i) => ({ sub: `u${i}` }));
    const told = await Promise.all(users.map(claims => limitsOf({ ...claims, plan: 'partner' })));
    expect(new Set(told)).toEqual(new Set(['1', '5']));
    expect(await limitsOf(users[0] ?? {})).toBe('10');
  });

  it('is a label of metrics, bounded by the file', async () => {
    const { ask, gateway } = await front({ limits });
    await ask('/orders', { sub: 'paul', plan: 'partner' });
    await ask('/orders', { sub: 'eve', plan: 'made-up' });
    const { text } = await gateway.admin('/metrics');
    expect(text).toContain(
      'weir_limit_decisions_total{bucket="orders",class="partner",outcome="admitted"} 1',
    );
    expect(text).toContain('weir_limit_decisions_total{bucket="orders",class="gold",outcome="admitted"} 1');
    // What upstreams answer has classes of another kind.
    const classes = [...text.matchAll(/^(?!weir_upstream_).*class="([^"]*)"/gm)].map(([, name]) => name);
    expect(new Set(classes)).toEqual(new Set(['bot', 'user', 'partner', 'gold', 'address']));
  });

  it('follows a reload, also for tokens that are known', async () => {
    const { ask, gateway } = await front({ limits });
    const claims = { sub: 'alice', tier: 'a' };
    expect(told(await ask('/orders', claims))).toBe('10 9');
    const tokens = await configPart(gateway, 'access_tokens');
    await changeConfig(gateway, { access_tokens: { ...tokens, classes: { partner: { claim: 'tier' } } } });
    await serves(gateway, 2);
    expect(told(await ask('/orders', claims))).toBe('100 98');
  });
});

describe('a number that the token says', () => {
  const limits = {
    buckets: {
      search: {
        user: { claim: 'rate', max: '500/10s', otherwise: '50/10s' },
        classes: { partner: { claim: 'rate', max: '900/10s', otherwise: '90/10s' } },
        address: '5/10s',
      },
    },
    routes: { '/search': 'search' },
  };
  const limitOf = (response: Response) => header(response, 'x-ratelimit-limit');

  it.each([
    [120, '120'],
    ['120', '120'],
    ['0120', '120'],
    [501, '500'],
    [1e300, '500'],
    ['9'.repeat(400), '500'],
    [1, '1'],
    [0, '50'],
    [-3, '50'],
    ['-3', '50'],
    [1.5, '50'],
    ['12.0', '50'],
    ['1e2', '50'],
    [' 12', '50'],
    ['', '50'],
    [null, '50'],
    [true, '50'],
    [[120], '50'],
    [{ of: 120 }, '50'],
    [undefined, '50'],
  ])('holds where it is a whole number: %j', async (rate, expected) => {
    const { ask } = await front({ limits });
    expect(limitOf(await ask('/search', { rate }))).toBe(expected);
  });

  it('is bounded by the class, and acts at once in a newer token', async () => {
    const { ask } = await front({ limits });
    expect(told(await ask('/search', { plan: 'partner', rate: 800 }))).toBe('800 799');
    expect(told(await ask('/search', { plan: 'partner', rate: 9000 }))).toBe('900 898');
    expect(told(await ask('/search', { rate: 4 }))).toBe('4 1');
    expect((await ask('/search', { rate: 4 })).status).toBe(200);
    const refused = await ask('/search', { rate: 4 });
    expect([refused.status, told(refused)]).toEqual([429, '4 0']);
    expect(told(await ask('/search', { rate: 100 }))).toBe('100 95');
  });

  it('is announced by the policy as well', async () => {
    const { ask } = await front({ limits: { ...limits, headers: ['x-ratelimit', 'ratelimit'] } });
    expect(header(await ask('/search', { rate: 7 }), 'ratelimit-policy')).toBe('"search";q=7;w=10');
    expect(header(await ask('/search', {}), 'ratelimit-policy')).toBe('"search";q=50;w=10');
  });
});

describe('the quota of a group', () => {
  const bucket = { user: '10/1m', group: { claim: 'organization', limit: '3/1m' } };
  const limits = {
    buckets: { exports: bucket, alone: { group: bucket.group } },
    routes: { '/exports': 'exports', '/alone': 'alone' },
    invalid_requests: { limit: '1/10m' },
    headers: ['x-ratelimit', 'ratelimit'],
  };
  const acme = (sub: string) => ({ sub, organization: 'acme' });

  it('counts all callers with one value of the claim together, and no others', async () => {
    const { ask } = await front({ limits });
    for (const sub of ['a', 'b', 'c']) expect(told(await ask('/exports', acme(sub)))).toBe('10 9');
    const refused = await ask('/exports', acme('d'));
    expect([refused.status, told(refused)]).toEqual([429, '3 0']);
    expect(header(refused, 'x-ratelimit-scope')).toBe('shared');
    expect(header(refused, 'ratelimit')).toMatch(/^"exports\/group";r=0;/);
    expect(header(refused, 'ratelimit-policy')).toBe('"exports/group";q=3;w=60, "exports";q=10;w=60');
    expect(told(await ask('/exports', { sub: 'a', organization: 'initech' }))).toBe('10 8');
    expect(told(await ask('/exports', { sub: 'd' }))).toBe('10 9');
  });

  it('is described by no success, and its 429 is no invalid request', async () => {
    const { ask } = await front({ limits });
    const first = await ask('/alone', acme('a'));
    expect(names(first.fields).filter(name => /ratelimit/i.test(name))).toEqual([]);
    expect(header(await ask('/exports', acme('a')), 'ratelimit-policy')).toBe('"exports";q=10;w=60');
    for (let i = 0; i < 2; i++) await ask('/alone', acme('a'));
    for (let i = 0; i < 5; i++) expect((await ask('/alone', acme('b'))).status).toBe(429);
    expect((await ask('/', acme('b'))).status).toBe(200);
  });

  it('gets its unit back where the service denies access', async () => {
    const { ask, gateway } = await front({
      limits,
      upstream: async exchange => {
        await exchange.received();
        await exchange.send('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
      },
    });
    for (let i = 0; i < 2; i++) expect((await ask('/alone', acme('a'))).status).toBe(403);
    const [line] = accessLines(gateway);
    expect(line?.['returnedAt'] ?? line?.['offenceAt']).toBeTypeOf('number');
    expect((await gateway.admin('/metrics')).text).toContain('weir_limit_keys 1');
  });

  it.each([
    [['acme']],
    [{ name: 'acme' }],
    [''],
    [null],
    [false],
    ['a'.repeat(257)],
    ['é'.repeat(129)],
    ['\ud800'],
  ])('is drawn on by no token with %j', async organization => {
    const { ask } = await front({ limits });
    for (let i = 0; i < 4; i++) expect((await ask('/alone', { organization })).status).toBe(200);
  });

  it.each(['a'.repeat(256), 7, true])('is drawn on by a token with %j', async organization => {
    const { ask } = await front({ limits });
    for (let i = 0; i < 3; i++) expect((await ask('/alone', { organization })).status).toBe(200);
    expect((await ask('/alone', { organization: String(organization) })).status).toBe(429);
  });

  it('counts each main value by itself', async () => {
    const { ask } = await front({
      limits: {
        buckets: { things: { main: 'id', group: { claim: 'organization', limit: '1/1m' } } },
        routes: { '/things/{id}': 'things' },
      },
    });
    expect((await ask('/things/1', acme('a'))).status).toBe(200);
    expect((await ask('/things/2', acme('b'))).status).toBe(200);
    expect((await ask('/things/1', acme('b'))).status).toBe(429);
  });
});

describe('a log of classes, groups and numbers', () => {
  const limits = {
    buckets: {
      exports: {
        user: { claim: 'rate', max: '50/1m', otherwise: '5/1m' },
        classes: { partner: '8/1m' },
        group: { claim: 'organization', limit: '6/1m' },
      },
    },
    routes: { '/exports': 'exports' },
  };

  it('names groups by pseudonyms alone, and is replayed to the same decisions', async () => {
    const { ask, gateway } = await front({ limits });
    const callers: Claims[] = [
      { sub: 'a', organization: 'acme-corp', rate: 2 },
      { sub: 'b', organization: 'acme-corp', rate: '9' },
      { sub: 'c', plan: 'partner', organization: 'initech' },
      { sub: 'd' },
    ];
    for (let i = 0; i < 10; i++) for (const claims of callers) await ask('/exports', claims);
    await expect.poll(() => accessLines(gateway).length).toBe(40);
    expect(gateway.logLines.join('\n')).not.toMatch(/acme|initech/);
    const lines = accessLines(gateway);
    expect(lines[0]).toMatchObject({ class: 'user', numbers: { rate: 2 } });
    expect(lines[0]?.['groups']).toEqual(lines[1]?.['groups']);
    expect(lines[0]?.['groups']).not.toEqual(lines[2]?.['groups']);
    expect(lines[3]).not.toHaveProperty('groups');
    const outcomes: string[] = [];
    const log = await tempText('access.log', `${gateway.logLines.join('\n')}\n`);
    const file = await tempText('limits.yaml', JSON.stringify({ global: 'off', ...limits }));
    const read = await loadLimits(file, {});
    if (!read.ok) throw new Error('the limits are broken');
    await replayLogs({
      limits: read.limits,
      logs: [log],
      store: 'memory',
      onDecision: (_, { refusedBy }) => outcomes.push(refusedBy === 'nothing' ? 'admitted' : refusedBy),
    });
    expect(outcomes).toEqual(lines.map(line => line['decision']));
    expect(new Set(outcomes)).toEqual(new Set(['admitted', 'caller', 'group']));
  });
});

it('simulate and suggest say what the log lacks of the plans that they are given, and what it has', async () => {
  const limits = {
    buckets: {
      b: {
        user: { claim: 'rate', max: '9/1m', otherwise: '3/1m' },
        classes: { partner: '20/1m' },
        group: { claim: 'organization', limit: '5/1m' },
      },
    },
    routes: { '/b': 'b' },
  };
  const { ask, gateway } = await front({ limits });
  for (let i = 0; i < 6; i++) await ask('/b', { sub: 'a', organization: 'acme', rate: 4 });
  for (let i = 0; i < 2; i++) await ask('/b', { sub: 'p', plan: 'partner' });
  await expect.poll(() => accessLines(gateway).length).toBe(8);
  const log = await tempText('access.log', `${gateway.logLines.join('\n')}\n`);
  const weir = async (...words: readonly string[]) => {
    let out = '';
    const terminal = { env: {}, out: (text: string) => (out += text), err: (text: string) => (out += text) };
    expect(await runCommandLine([...words, log], terminal)).toBe(0);
    return out;
  };
  const told = await weir(
    'suggest',
    '--percentile',
    '100',
    '--limits',
    await tempText('l.yaml', stringify(limits)),
  );
  expect(told).toMatch(/^b +user \(max\) +1 .* 9\/1m +0 % +8\/1m$/m);
  expect(told).toMatch(/^b +partner +1 .* 20\/1m +0 % +3\/1m$/m);
  expect(told).toMatch(/^b +group +1 .* 5\/1m +100 % +8\/1m$/m);
  expect(told).toMatch(/b, user \(max\): tokens say up to 4 in the claim rate/i);
  expect(told).toContain('every token says a number, so the logs tell nothing of otherwise');
  expect(told).not.toContain('no request in the log has');
  const others = {
    ...limits,
    buckets: { b: { user: '9/1m', classes: { silver: '3/1m' }, group: { claim: 'team', limit: '5/1m' } } },
  };
  const tried = await weir('simulate', '--limits', await tempText('l.yaml', stringify(others)));
  expect(tried).toContain(
    'no request in the log has the class silver, the claim team: a log has the classes and claims',
  );
});

it('each of several providers has classes and groups of its own', async () => {
  const [main, partners] = [await startIssuer(), await startIssuer()];
  const entry = (name: string, { url: issuer }: typeof main, classes: object) => ({
    ...{ name, issuer, audience: 'api', classes },
  });
  const upstream = await startUpstream();
  const limits = {
    global: 'off',
    buckets: {
      b: { user: '9/1m', classes: { gold: '20/1m' }, group: { claim: 'organization', limit: '2/1m' } },
    },
    routes: { '/b': 'b' },
  };
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    route: { authentication: 'required' },
    config: {
      identity_providers: [
        entry('main', main, { gold: { claim: 'plan' } }),
        entry('partners', partners, { gold: { callers: [{ client: 'app', subject: 'pia' }] } }),
      ],
      limits: await tempText('limits.yaml', JSON.stringify(limits)),
    },
  });
  await gateway.ready();
  const ask = (issuer: typeof main, claims: Claims) => gateway.ask(head('GET /b', issuer.bearer(claims)));
  const acme = { organization: 'acme' };
  expect(told(await ask(main, { sub: 'a', plan: 'x', ...acme }))).toBe('20 19');
  expect(told(await ask(partners, { sub: 'a', plan: 'x', ...acme }))).toBe('9 8');
  expect(told(await ask(partners, { azp: 'app', sub: 'pia' }))).toBe('20 19');
  expect(told(await ask(main, { azp: 'app', sub: 'pia', ...acme }))).toBe('9 8');
  expect((await ask(main, { sub: 'b', ...acme })).status).toBe(429);
  expect((await ask(partners, { sub: 'b', ...acme })).status).toBe(200);
  expect((await ask(partners, { sub: 'c', organization: `${main.url} acme` })).status).toBe(200);
});

it('a bucket without groups gets one while requests are served', async () => {
  const { ask, gateway } = await front({
    limits: { buckets: { b: { user: '9/1m' } }, routes: { '/b': 'b' } },
  });
  const claims = { sub: 'a', organization: 'acme' };
  expect(told(await ask('/b', claims))).toBe('9 8');
  await changeLimits(gateway, {
    global: 'off',
    buckets: { b: { user: '9/1m', group: { claim: 'organization', limit: '1/1m' } } },
    routes: { '/b': 'b' },
  });
  await serves(gateway, 2);
  expect(told(await ask('/b', claims))).toBe('9 7');
  expect((await ask('/b', { ...claims, sub: 'b' })).status).toBe(429);
});
