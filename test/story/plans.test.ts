import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { runCommandLine } from '../../src/cli/index.ts';
import { readPart } from '../../src/config/index.ts';
import { replayLogs } from '../../src/offline/simulation/index.ts';
import { changeConfig, changeLimits, configPart, serves } from '../support/edit-config.ts';
import { startGateway } from '../support/gateway.ts';
import { accessLines, startGatewayOf } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { tempText } from '../support/temp.ts';
import { clockOfWindows } from '../support/test-clock.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { header, type Response, startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

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

  it('has numbers of its own, a word in the log and a label of metrics, which the file bounds', async () => {
    const { ask, gateway } = await front({ limits });
    expect(told(await ask('/orders', { sub: 'alice' }))).toBe('10 9');
    expect(told(await ask('/orders', { sub: 'alice', plan: 'partner' }))).toBe('100 98');
    expect(told(await ask('/orders', { sub: 'alice', plan: 'made-up' }))).toBe('10 7');
    expect(told(await ask('/orders', { azp: 'job', client_id: 'job' }))).toBe('20 19');
    expect(told(await ask('/orders', { azp: 'web', sub: 'carol' }))).toBe('100 99');
    await expect.poll(() => accessLines(gateway).length).toBe(5);
    const lines = accessLines(gateway);
    expect(lines.map(line => line['class'])).toEqual(['user', 'partner', 'gold', 'bot', 'partner']);
    const { text } = await gateway.admin('/metrics');
    for (const [name, count] of [
      ['partner', 2],
      ['gold', 1],
    ] as const)
      expect(text).toContain(
        `weir_limit_decisions_total{bucket="orders",class="${name}",outcome="admitted"} ${count}`,
      );
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

it('a number that the token says, and the quota of a group, hold at once and are announced', async () => {
  const search = {
    user: { claim: 'rate', max: '500/10s', otherwise: '50/10s' },
    group: { claim: 'organization', limit: '3/1m' },
  };
  const { ask } = await front({
    limits: { buckets: { search }, routes: { '/search': 'search' }, headers: ['x-ratelimit', 'ratelimit'] },
  });
  const acme = (sub: string) => ({ sub, organization: 'acme' });
  expect(told(await ask('/search', { ...acme('a'), rate: 120 }))).toBe('120 119');
  expect(told(await ask('/search', { ...acme('a'), rate: 9_000 }))).toBe('500 498');
  expect(told(await ask('/search', acme('b')))).toBe('50 49');
  const refused = await ask('/search', { ...acme('c'), rate: 7 });
  expect([refused.status, told(refused)]).toEqual([429, '3 0']);
  expect(header(refused, 'x-ratelimit-scope')).toBe('shared');
  expect(header(refused, 'ratelimit')).toMatch(/^"search\/group";r=0;/);
  expect(header(refused, 'ratelimit-policy')).toBe('"search/group";q=3;w=60, "search";q=7;w=10');
  expect(told(await ask('/search', { sub: 'a', organization: 'initech' }))).toBe('50 47');
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
    // The replay has the order of workers' lines from their times.
    const clock = new FrozenClock(Date.now());
    const { ask, gateway } = await front({ limits, clock });
    const callers: Claims[] = [
      { sub: 'a', organization: 'acme-corp', rate: 2 },
      { sub: 'b', organization: 'acme-corp', rate: '9' },
      { sub: 'c', plan: 'partner', organization: 'initech' },
      { sub: 'd' },
    ];
    for (let i = 0; i < 40; i++) {
      clock.advance(1);
      await ask('/exports', callers[i % callers.length] ?? {});
    }
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
    const read = await readPart('limits', file, {});
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
  expect(told).toContain('every token has a number, so the logs show nothing about "otherwise"');
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
    clock: clockOfWindows(),
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
