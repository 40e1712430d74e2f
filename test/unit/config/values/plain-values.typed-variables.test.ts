import { describe, expect, it } from 'vitest';
import { diagnosticsIn, loadFiles, loadText, NEEDED } from '../../../support/config-text.ts';

/** The snapshot of a gateway.yaml without errors. */
async function snapshotOf(text: string, env: Readonly<Record<string, string>>) {
  const result = await loadText(text, env);
  if (!result.ok) throw new Error(result.diagnostics.map(({ message }) => message).join('\n'));
  return result.snapshot;
}

describe('a variable where a number, true or false is expected', () => {
  it.each([
    [`"\${N}"`, { N: '7' }, 7],
    [`\${N}`, { N: '7' }, 7],
    [`"\${N}00"`, { N: '1' }, 100],
    [`"\${M}\${N}"`, { M: '1', N: '2' }, 12],
    [`"\${N}"`, { N: '007' }, 7],
    [`"\${N}"`, { N: '+7' }, 7],
  ])('fills a number: %s with %j is %i', async (written, env, number) => {
    const snapshot = await snapshotOf(`caps:\n  fields: ${written}\n${NEEDED}`, env);
    expect(snapshot.caps.fields).toBe(number);
  });

  it.each([
    ['true', true],
    ['True', true],
    ['TRUE', true],
    ['false', false],
    ['False', false],
  ])('fills true and false: %s', async (text, value) => {
    const snapshot = await snapshotOf(`log:\n  access: \${ACCESS}\n${NEEDED}`, { ACCESS: text });
    expect(snapshot.log.access).toBe(value);
  });

  it('is seen by the checks of one part against another as well', async () => {
    const routes = `routes: [{ path: /**, upstream: api, authentication: none, close_at_expiry: "\${CLOSE}" }]\n`;
    const text = NEEDED.replace(/routes:.*\n/, routes);
    expect(await diagnosticsIn(text, { CLOSE: 'false' })).toEqual([]);
    expect(await diagnosticsIn(text, { CLOSE: 'true' })).toEqual([
      expect.stringContaining('has no effect with "authentication: none"'),
    ]);
  });

  it('fills each place that an alias or a merge brings it to', async () => {
    const text = `
upstreams:
  a: &a { url: "http://a", max_requests: &n "\${N}" }
  b: *a
  c: { <<: *a, url: "http://c" }
  d: { url: "http://d", max_requests: *n }
routes:
  - { path: /a, upstream: a, authentication: none }
  - { path: /b, upstream: b, authentication: none }
  - { path: /c, upstream: c, authentication: none }
  - { path: /d, upstream: d, authentication: none }
`;
    const { upstreams } = await snapshotOf(text, { N: '9' });
    expect(upstreams.map(({ pools }) => pools.requests.max)).toEqual([9, 9, 9, 9]);
  });

  it('fills limits.yaml, and what may be written in several ways', async () => {
    const files = {
      'gateway.yaml': `${NEEDED}store: { redis: "redis://r:6379", replicas: "\${N}" }\nlimits: limits.yaml\n`,
      'limits.yaml': `keys_per_caller: "\${N}"\n`,
    };
    const result = await loadFiles(files, { N: '3' });
    expect(result).toMatchObject({ ok: true, snapshot: { limits: { keysPerCaller: 3 } } });
    expect(result).toMatchObject({ snapshot: { store: { replicas: 3 } } });
  });

  it('stays text where text is expected', async () => {
    const text = `${NEEDED}identity_provider: { issuer: "https://id.example.com", client_id: "\${ID}", client_authentication: none, redirect_uri: "https://app.example.com/cb" }
access_tokens: { audience: "\${ID}", bots: { claim: c, value: "\${FLAG}" } }
`;
    const { identity } = await snapshotOf(text, { ID: '1234', FLAG: 'true' });
    const [provider] = identity?.providers ?? [];
    expect(provider?.signIn?.clientId).toBe('1234');
    expect(provider?.accessTokens).toMatchObject({ audience: ['1234'], bots: { value: 'true' } });
  });

  it('is a number only as a whole number is written, and of the range that is told', async () => {
    for (const text of ['', ' 7', '7.5', '0x7', '1e3', 'seven', '-7', '0', '1001', '9'.repeat(400)]) {
      expect(await diagnosticsIn(`caps: { fields: "\${N}" }\n${NEEDED}`, { N: text }), text).toEqual([
        `1:17: caps.fields: expected a whole number from 1 to 1000, but "\${N}" contains something else`,
      ]);
    }
  });

  it('is true or false only as that is written', async () => {
    for (const text of ['', 'yes', '1', 'tRUE', 'on']) {
      expect(await diagnosticsIn(`log: { access: "\${FLAG}" }\n${NEEDED}`, { FLAG: text }), text).toEqual([
        `1:16: log.access: expected true or false, but "\${FLAG}" contains something else`,
      ]);
    }
  });
});

describe('a variable whose text may not stand where it does', () => {
  const env = { V: 'hunter2 hunter2' };

  it.each([
    [
      `timeouts: { keep_alive: "\${V}" }`,
      `expected a time such as 250ms, 5s, 10m or 1h, but "\${V}" contains something else`,
    ],
    [
      `log: { level: "\${V}" }`,
      `expected "trace", "debug", "info", "warn", "error", "fatal" or "silent", but "\${V}" contains something else`,
    ],
    [
      `trusted_proxies: ["\${V}"]`,
      `expected a network or an address such as 10.1.0.0/16, 2001:db8::/32 or 192.0.2.7, but "\${V}" contains something else`,
    ],
    [
      `trusted_proxies: "\${V}"`,
      `expected the word none, or a list of networks such as [10.1.0.0/16], but "\${V}" contains something else`,
    ],
    [`timeouts: "\${V}"`, `expected a map of keys, which no variable can hold, found "\${V}"`],
    [
      `listen: { http: "\${V}" }`,
      `expected host:port such as 0.0.0.0:8080, 127.0.0.1:8080 or "[::]:8080", but "\${V}" contains something else`,
    ],
  ])('is told without it: %s', async (line, message) => {
    const diagnostics = await diagnosticsIn(`${line}\n${NEEDED}`, env);
    expect(diagnostics.map(diagnostic => diagnostic.replace(/^\d+:\d+: [^:]*: /, ''))).toEqual([message]);
  });

  it.each([
    [
      `upstreams: { api: { url: "http://api" } }\nroutes: [{ path: "\${V}", upstream: api, authentication: none }]\n`,
      `expected a path such as /v1/things/{id}, but "\${V}" contains something else`,
    ],
    [
      `trusted_proxies: ["\${N}"]\n${NEEDED}`,
      `expected a network such as 10.1.0.0/16, but "\${N}" contains something else`,
    ],
  ])('is told without it where the message would quote it, too', async (text, message) => {
    const diagnostics = await diagnosticsIn(text, { ...env, N: '10.1.0.0/99' });
    expect(diagnostics.map(diagnostic => diagnostic.replace(/^\d+:\d+: [^:]*: /, ''))).toEqual([message]);
  });

  it('is told so of a quota', async () => {
    const files = {
      'gateway.yaml': `${NEEDED}limits: limits.yaml\n`,
      'limits.yaml': `global: { bot: "\${V}" }\n`,
    };
    expect(await loadFiles(files, env)).toMatchObject({
      ok: false,
      diagnostics: [
        {
          message: `global.bot: expected a number and a period such as 20/5s, but "\${V}" contains something else`,
        },
      ],
    });
  });
});

describe('false, which tools that speak YAML 1.1 write for off', () => {
  it.each([
    [
      'listen: { redirect: false, grpc: false, admin: false }',
      'listen: { redirect: off, grpc: off, admin: off }',
    ],
    ['cors: false', 'cors: off'],
    ['timeouts: { max_connection_age: false }', 'timeouts: { max_connection_age: off }'],
  ])('means off in gateway.yaml: %s', async (written, meant) => {
    const snapshots = await Promise.all([written, meant].map(text => snapshotOf(`${text}\n${NEEDED}`, {})));
    const [listen, cors, timeouts] = ['listen', 'cors', 'timeouts'].map(key =>
      snapshots.map(snapshot => Reflect.get(snapshot, key)),
    );
    for (const pair of [listen, cors, timeouts]) expect(pair?.[0]).toEqual(pair?.[1]);
  });

  it('means off in limits.yaml', async () => {
    const limits = 'global: false\ninvalid_requests: false\nfailed_verifications: false\n';
    const files = { 'gateway.yaml': `${NEEDED}limits: limits.yaml\n`, 'limits.yaml': limits };
    expect(await loadFiles(files)).toMatchObject({ ok: true });
  });

  it('is refused elsewhere', async () => {
    expect(await diagnosticsIn(`timeouts: { keep_alive: false }\n${NEEDED}`)).toHaveLength(1);
  });
});
