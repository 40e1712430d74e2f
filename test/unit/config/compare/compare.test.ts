import { describe, expect, it } from 'vitest';
import { changesInWords, loadFiles, loadText } from '../../../support/config-text.ts';

const UPSTREAMS = 'upstreams: { api: { url: "http://api:3000" } }';

/** What changes from one gateway.yaml to the other, a line each. */
async function changes(before: string, now: string, env: Record<string, string> = {}): Promise<string[]> {
  const [old, latest] = [await loadText(before, env), await loadText(now, env)];
  if (!old.ok || !latest.ok)
    throw new Error(JSON.stringify([old, latest].map(each => !each.ok && each.diagnostics)));
  return changesInWords(latest.snapshot.outline, old.snapshot.outline);
}

const routes = (...list: string[]) =>
  `${UPSTREAMS}\nroutes:\n${list.map(route => `  - ${route}\n`).join('')}`;

describe('the comparison of two gateway.yaml', () => {
  it('says what a removed route falls to, and which requests nothing takes any more', async () => {
    const wide = '{ path: /v1/**, upstream: api, authentication: none }';
    const small = '{ path: /v1/files, methods: [POST], upstream: api, authentication: none, max_body: 1KiB }';
    expect(await changes(routes(wide, small), routes(wide))).toEqual([
      'looser: POST /v1/files: by the route "/v1/**"; max_body any, before 1KiB',
    ]);
    expect(await changes(routes(wide, small), routes(small))).toEqual([
      'stricter: /v1/**: no route takes it any more: 404',
    ]);
    expect(await changes(routes(small), routes(wide, small))).toEqual([
      'looser: /v1/**: served by api, before 404',
    ]);
  });

  it('says how the policies of a route change', async () => {
    const route = (policies: string) =>
      routes(`{ path: /a, upstream: api, authentication: none, ${policies} }`);
    expect(
      await changes(
        route('global_limit: exempt, semicolons: pass, timeouts: { first_byte: 30s }'),
        route('websocket: true, min_body_rate: 1KiB/s'),
      ),
    ).toEqual([
      expect.stringMatching(
        /^mixed: \/a: the global limit applies; refuses semicolons; no longer: serves no WebSockets; websocket_idle 10m, before off; min_body_rate 1KiB\/s, before .*; first_byte 1m, before 30s$/,
      ),
    ]);
  });

  it('says what callers of a class may send from now on, and who else joins or leaves it', async () => {
    const before = { user: '20/1s', classes: { gold: '40/1s' } };
    const file = (rules: string, b: unknown = before) => ({
      'gateway.yaml': `${UPSTREAMS}\nlimits: limits.yaml\nroutes: [{ path: /**, upstream: api }]
identity_provider: { issuer: "https://id", client_id: g, client_secret: "\${S}", redirect_uri: "https://app" }
access_tokens: { audience: api${rules} }\n`,
      'limits.yaml': JSON.stringify({ buckets: { b }, routes: { '/**': 'b' } }),
    });
    const words = async (old: object, now: object) => {
      const [was, is] = await Promise.all([old, now].map(files => loadFiles({ ...files }, { S: 's' })));
      if (!was?.ok || !is?.ok) throw new Error(JSON.stringify([was, is]));
      return changesInWords(is.snapshot.outline, was.snapshot.outline);
    };
    const gold = ', classes: { gold: { claim: plan, value: gold } }';
    expect(await words(file(''), file(gold))).toEqual([
      'looser: access_tokens.classes.gold: its callers get other limits than users: bucket b 40 in 1s, before 20 in 1s',
    ]);
    expect(await words(file(gold), file(''))).toEqual([
      'stricter: access_tokens.classes.gold: its callers get the limits of users: bucket b 20 in 1s, before 40 in 1s',
    ]);
    expect(await words(file(gold), file(gold.replace('plan', 'tier')))).toEqual([
      'mixed: access_tokens.classes.gold: other callers belong to it: bucket b 40 in 1s, before 20 in 1s; bucket b 20 in 1s, before 40 in 1s',
    ]);
    expect(await words(file(''), file(gold.replace('gold:', 'silver:')))).toEqual([
      'neutral: access_tokens.classes.silver: its callers have the limits of users, as before',
    ]);
    const [two, other] = [
      ', classes: { a: { claim: a }, b: { claim: b } }',
      ', classes: { b: { claim: b }, a: { claim: a } }',
    ];
    expect(await words(file(two), file(other))).toEqual([
      'mixed: access_tokens.classes: in the order b, a, before a, b: the first that fits a caller counts',
    ]);
    const open = `${UPSTREAMS}\nroutes: [{ path: /**, upstream: api, authentication: none }]\n`;
    const found = await words({ ...file(''), 'gateway.yaml': open }, file(''));
    expect(found).toContain('mixed: access_tokens: a map, before not set');
    const bots = { user: '20/1s', bot: '5/1s' };
    expect(await words(file('', bots), file(', bots: { claim: bot }', bots))).toEqual([
      'stricter: access_tokens.bots: its callers get other limits than users: bucket b 5 in 1s, before 20 in 1s',
    ]);
  });

  it('says how settings change, and which numbers refuse earlier', async () => {
    const base = routes('{ path: /a, upstream: api, authentication: none }');
    expect(await changes(base, `${base}caps: { requests: 10 }\nlog: { level: debug }\n`)).toEqual([
      'stricter: caps.requests: 10, before the default',
      'neutral: log.level: debug, before the default',
    ]);
    expect(await changes(base, base.replace('{ api:', '{ api: { url: "http://b" }, b:'))).toEqual([
      'neutral: upstreams.api.url: http://b, before http://api:3000',
      'neutral: upstreams.b: a map, before not set',
    ]);
  });

  it('shows the addresses of an upstream with their weights', async () => {
    const base = routes('{ path: /a, upstream: api, authentication: none }');
    const with2 = (weight: number) =>
      base.replace('url: "http://api:3000"', `urls: ["http://b", { url: "http://c", weight: ${weight} }]`);
    expect(await changes(with2(2), with2(5))).toEqual([
      'neutral: upstreams.api.urls: [http://b, { url: http://c, weight: 5 }], before [http://b, { url: http://c, weight: 2 }]',
    ]);
  });

  it('weighs the settings of upstreams and providers whose names have dots', async () => {
    const withUpstreams = (text: string) =>
      `upstreams: { api: { url: "http://api:3000" }, ${text} }\nroutes: [{ path: /a, upstream: api, authentication: none }]\n`;
    const upstream = (settings: string) => withUpstreams(`api.v2: { url: "http://b"${settings} }`);
    expect(
      await changes(
        upstream(', max_requests: 20, timeouts: { connect: 3s, first_byte: 9s }'),
        upstream(', max_requests: 10, timeouts: { connect: 4s, first_byte: 8s }'),
      ),
    ).toEqual([
      'stricter: upstreams.api.v2.max_requests: 10, before 20',
      'looser: upstreams.api.v2.timeouts.connect: 4s, before 3s',
    ]);
    expect(await changes(withUpstreams(''), upstream(''))).toEqual([
      'neutral: upstreams.api.v2: a map, before not set',
    ]);
    const providers = (audience: string) => `identity_providers:
  - { name: eu.west, issuer: "https://eu.example", audience: ${audience} }
  - { name: us, issuer: "https://us.example", audience: gateway }
${upstream('')}`;
    expect(await changes(providers('web'), providers('api'))).toEqual([
      'mixed: identity_providers.eu.west.audience: api, before web',
    ]);
  });

  it('says where the provider is asked about tokens, and how often', async () => {
    const provider = `identity_provider: { issuer: "https://id", client_id: g, client_secret: "\${SECRET}", redirect_uri: "https://app" }\naccess_tokens: { audience: api }\n`;
    const route = (policy: string) => `${routes(`{ path: /a, upstream: api${policy} }`)}${provider}`;
    const [off, on] = [route(''), route(', introspection: true')];
    expect(await changes(off, on, { SECRET: 'hunter2' })).toEqual([
      'stricter: /a: introspection 5s, before off',
    ]);
    expect(await changes(on, off, { SECRET: 'hunter2' })).toEqual([
      'looser: /a: introspection off, before 5s',
    ]);
  });

  it('tells providers of a list by their names, wherever they stand', async () => {
    const entry = (name: string, audience: string) =>
      `{ name: ${name}, issuer: "https://${name}", audience: ${audience} }`;
    const text = (...entries: readonly string[]) =>
      `${routes('{ path: /a, upstream: api }')}identity_providers: [${entries.join(', ')}]\n`;
    const old = text(entry('main', 'api'));
    expect(await changes(old, text(entry('new', 'api'), entry('main', 'other')))).toEqual([
      'mixed: identity_providers.main.audience: other, before api',
      'mixed: identity_providers.new: a map, before not set',
    ]);
  });

  it('says nothing of a default that is written out', async () => {
    const base = routes('{ path: /a, upstream: api, authentication: none }');
    expect(await changes(base, `${base}log: { level: info }\n`)).toEqual([]);
  });

  it('never shows a secret or the value of a variable', async () => {
    const text = (name: string) => `${routes('{ path: /a, upstream: api }')}
identity_provider: { issuer: "https://id.example.com", client_id: gateway, client_secret: "\${${name}}", redirect_uri: "https://app.example.com/\${${name}}" }
access_tokens: { audience: "\${${name}}" }
`;
    const env = { ONE: 'first-secret-value', TWO: 'second-secret-value' };
    const found = await changes(text('ONE'), text('TWO'), env);
    expect(found).toContain('mixed: access_tokens.audience: another value, which is not shown');
    expect(found).toContain('neutral: identity_provider.client_secret: another value, which is not shown');
    expect(found.join()).not.toMatch(/secret-value/);
  });

  it('names as many changes as a line of the log holds', async () => {
    const list = (count: number) =>
      routes(
        ...Array.from({ length: count }, (_, n) => `{ path: /a/${n}, upstream: api, authentication: none }`),
      );
    const one = await changes(list(1), list(300));
    expect(one).toEqual([
      'looser: /a/1, /a/2, /a/3, /a/4, /a/5, /a/6, /a/7, /a/8 and 291 more: served by api, before 404',
    ]);
    const caps = 'upstreams: {\n'.concat(
      ...Array.from({ length: 60 }, (_, n) => `  u${n}: { url: "http://u${n}" },\n`),
    );
    const many = await changes(
      list(1),
      `${caps}  api: { url: "http://api:3000" } }\n${list(1).split('\n').slice(1).join('\n')}`,
    );
    expect(many).toHaveLength(51);
    expect(many.at(-1)).toBe('and 10 more, which "weir diff" lists');
  });
});
