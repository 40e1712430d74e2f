import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../../../src/config/index.ts';
import { diagnosticsOf, loadFiles } from '../../../support/config-text.ts';

const IDENTITY = `identity_provider: { issuer: "https://id.example.com", client_id: gateway, client_authentication: none, redirect_uri: "https://app.example.com/cb" }
access_tokens: { audience: any, bots: { claim: client_id } }
upstreams: { api: { url: "http://api:3000" } }
limits: limits.yaml
`;

const EVERYWHERE = ['path: /**, authentication: optional'];

/** What is told of this limits.yaml beside these routes of gateway.yaml. */
async function diagnosticsIn(
  limits: string,
  routes: readonly string[] = EVERYWHERE,
  identity = IDENTITY,
): Promise<string[]> {
  return diagnosticsOf(await loadFiles(filesOf(limits, routes, identity))).map(diagnostic =>
    diagnostic.replace(/^limits\.yaml:/, ''),
  );
}

/** The same of one bucket `b`, on these lines. */
function diagnosticsOfBucket(keys: string, lines: readonly string[], routes?: readonly string[]) {
  return diagnosticsIn(textOfBucket(keys, lines), routes);
}

/** The hints about that bucket, though nothing is wrong with it. */
async function hintsOfBucket(
  keys: string,
  lines: readonly string[],
  routes: readonly string[] = EVERYWHERE,
  identity = IDENTITY,
): Promise<string[]> {
  const result = await loadFiles(filesOf(textOfBucket(`${keys}, scope: user`, lines), routes, identity));
  if (!result.ok) throw new Error(diagnosticsOf(result).join('\n'));
  return result.hints.map(({ line, column, message }) => `${line}:${column}: ${message}`);
}

function textOfBucket(keys: string, lines: readonly string[]): string {
  return `buckets:\n  b: { ${keys} }\nroutes:\n${lines.map(line => `  ${line}: b\n`).join('')}`;
}

function filesOf(limits: string, routes: readonly string[], identity: string): Record<string, string> {
  const lines = routes.map(route => `  - { ${route}, upstream: api }\n`);
  return { 'gateway.yaml': `${identity}routes:\n${lines.join('')}`, 'limits.yaml': limits };
}

describe('a value of limits.yaml', () => {
  it.each([
    [
      'global: { bot: 0/1s }',
      '1:16: global.bot: "0/1s" is not a quota: write a number from 1 to 1000000000 and a period from 1s to 31d, or day, week or month, such as 5/5s or 100/10m',
    ],
    ['ipv6_prefix: 32', '1:14: ipv6_prefix: expected a whole number from 48 to 64, found 32'],
    ['ipv6_prefix: "32"', '1:14: ipv6_prefix: expected a whole number from 48 to 64, found "32"'],
    ['ipv6_prefix: "56"', '1:14: ipv6_prefix: expected a whole number from 48 to 64, found "56"'],
    [
      'nat64_prefixes: [2001:db8::/33]',
      "1:18: nat64_prefixes[0]: a translator's prefix has 32, 40, 48, 56, 64 or 96 bits (RFC 6052, 2.2), not 33",
    ],
    [
      'nat64_prefixes: [10.0.0.0/8]',
      '1:18: nat64_prefixes[0]: "10.0.0.0/8" is not an IPv6 network: write 2001:db8:64::/96',
    ],
    [
      'nat64_prefixes: ["::/96"]',
      '1:18: nat64_prefixes[0]: "::/96" is in a special range of addresses: write the prefix that your translator has',
    ],
    [
      'blocked: { addresses: ["2001:db8:64::/96"] }',
      '1:24: blocked.addresses[0]: a client of IPv6 is known by its /64: write a network such as 2001:db8:1:2::/64',
    ],
    ['global: { bots: 5/1s }', '1:11: global: unknown key "bots", did you mean "bot"?'],
    [
      'global: none',
      '1:9: global: expected off, or a map such as { bot: 50/1s, user: 50/1s, address: 50/1s }, found "none"',
    ],
    [
      'global: { shadow: yes }',
      '1:19: global.shadow: expected true, false, or a map such as { user: 30/1s }, found "yes"',
    ],
    [
      'global: { shadow: {} }',
      '1:11: global: "shadow" has no quota to try: write true, or a quota such as user: 10/5s',
    ],
    [
      'global: { shadow: { resource: 5/5s } }',
      '1:21: global.shadow: unknown key "resource": it belongs in "buckets.NAME" or in "buckets.NAME.shadow"',
    ],
    [
      'invalid_requests: { limit: 5 }',
      '1:28: invalid_requests.limit: expected a number and a period such as 20/5s, found 5',
    ],
    [
      'invalid_requests: { limit: off }',
      '1:28: invalid_requests.limit: "off" is not a quota: write a number from 1 to 1000000000 and a period from 1s to 31d, such as 5/5s or 100/10m',
    ],
    [
      'webhook_not_found: { restrict_for: 19h }',
      '1:36: webhook_not_found.restrict_for: expected a time from 1s to 65535s, found "19h"',
    ],
    [
      'ignored_refusals: { restrict_for: 999ms }',
      '1:35: ignored_refusals.restrict_for: expected a time from 1s to 65535s, found "999ms"',
    ],
    [
      'blocked: { addresses: [2001:db8::7] }',
      '1:24: blocked.addresses[0]: a client of IPv6 is known by its /64: write a network such as 2001:db8:1:2::/64',
    ],
    [
      'blocked: { callers: [{ client: web, subject: 7 }] }',
      '1:46: blocked.callers[0].subject: expected text, in quotes if it is a number, found 7',
    ],
    [
      'never_restrict: [home]',
      '1:18: never_restrict[0]: expected a network or an address such as 10.1.0.0/16, 2001:db8::/32 or 192.0.2.7, found "home"',
    ],
    ['keys_per_caller: 0', '1:18: keys_per_caller: expected a whole number from 1 to 1000000, found 0'],
    ['window_slack: 2s', '1:15: window_slack: expected a time from 0ms to 1s, found "2s"'],
    [
      'bucket_hash: rout',
      '1:14: bucket_hash: expected "value" or "route", found "rout", did you mean "route"?',
    ],
    [
      'headers: [ratelimit]',
      '1:10: headers: x-ratelimit must be among them: clients of this API rely on it. Write [x-ratelimit] or [x-ratelimit, ratelimit]',
    ],
    ['headers: [x-ratelimit, x-ratelimit]', '1:24: headers[1]: "x-ratelimit" is listed twice'],
    [
      'headers: [x-ratelimit, rate-limit]',
      '1:24: headers[1]: expected "x-ratelimit" or "ratelimit", found "rate-limit", did you mean "ratelimit"?',
    ],
    [
      'headers: ratelimit',
      '1:10: headers: expected [x-ratelimit] or [x-ratelimit, ratelimit], found "ratelimit"',
    ],
    ['bucket: {}', '1:1: unknown key "bucket", did you mean "buckets"?'],
  ])('%s is an error', async (text, diagnostic) => {
    expect(await diagnosticsIn(`${text}\n`)).toEqual([diagnostic]);
  });

  it('may block any part of a prefix in which addresses embed an IPv4 address', async () => {
    const networks = [
      '64:ff9b::/96',
      '64:ff9b::c633:6400/120',
      '::ffff:0:0:0/96',
      '2002:c633:6407::/48',
      '2001::/32',
    ];
    const own = 'nat64_prefixes: ["2001:db8:64::/96"]\n';
    const blocked = [...networks, '2001:db8:64::7'].map(each => `"${each}"`).join(', ');
    expect(await diagnosticsIn(`${own}blocked: { addresses: [${blocked}] }\n`)).toEqual([]);
    expect(await diagnosticsIn(`${own}blocked: { addresses: ["2001:db8:65::7"] }\n`)).toHaveLength(1);
  });

  it.each([
    ['algorithm: gcra', '2:24: buckets.b.algorithm: expected "fixed" or "smooth", found "gcra"'],
    ['scope: global', '2:20: buckets.b.scope: expected "user" or "shared", found "global"'],
    [
      'main: "{id}"',
      '2:19: buckets.b.main: expected the name of a parameter such as channel_id, without braces, found "{id}"',
    ],
    ['users: 1/1s', '2:13: buckets.b: unknown key "users", did you mean "user"?'],
  ])('a bucket with { %s } is an error', async (key, diagnostic) => {
    const text = `buckets:\n  b: { ${key}, user: 5/5s }\nroutes: { "/{id}": b }\n`;
    const [first, ...others] = await diagnosticsIn(
      text.replace('user: 5/5s', key.startsWith('users') ? 'bot: 5/5s' : 'user: 5/5s'),
    );
    expect(others).toEqual([]);
    expect(first?.replace(/^2:\d+/, '')).toBe(diagnostic.replace(/^2:\d+/, ''));
  });

  it('a bucket without a valid name is an error', async () => {
    expect(await diagnosticsIn('buckets: { "a b": { user: 5/5s } }\nroutes: { /: "a b" }\n')).toEqual([
      '1:12: buckets: "a b" is not a valid name: use 1 to 63 letters, digits, ".", "_" or "-", starting with a letter or digit',
    ]);
  });

  it('all are reported at once', async () => {
    const text =
      'global: { bot: 5 }\nbuckets:\n  b: { main: id }\n  c: { user: 5/5s }\nroutes:\n  /a: b\n  get /b: other\n';
    expect(await diagnosticsIn(text)).toEqual([
      '1:16: global.bot: expected off, or a number and a period such as 1000/1m, found 5',
      '3:3: buckets: the bucket "b" limits nobody: write a quota for user, bot, address or resource, such as user: 20/5s',
      '6:3: routes: "/a" has no {id}, by which the bucket "b" counts',
      '7:3: routes: "get /b" is not a route: "get" is not a method, did you mean "GET"?',
      '7:11: routes.get /b: no bucket is named "other"',
    ]);
  });
});

describe('a line of routes', () => {
  it.each([
    ['v1/a', 'is not a route: a path starts with "/": write "/v1/a"'],
    ['GET v1/a', 'is not a route: a path starts with "/": write "/v1/a"'],
    ['GET,POST /v1/a', 'is not a route: write a line for each method'],
    ['GTE /v1/a', 'is not a route: "GTE" is not a method, did you mean "GET"?'],
    [
      'TRACE /v1/a',
      'is not a route: method "TRACE" is not a supported method: write GET, POST, PUT, PATCH, DELETE or the like, or name no method to match all',
    ],
    ['GET /v1/a b', 'is not a route: write METHOD /path, or /path alone'],
    ['GET', 'is not a route: the path is missing: write METHOD /path'],
    ['ANY /v1', 'is not a route: write the path alone for every method'],
    ['* /v1', 'is not a route: write the path alone for every method'],
    ['GET /v1/{a}/{a}', 'is not a route: two parameters are named "a": give each a name of its own'],
  ])('"%s" is an error', async (line, diagnostic) => {
    expect(await diagnosticsIn(`buckets: { b: { user: 5/5s } }\nroutes:\n  "${line}": b\n`)).toEqual([
      `3:3: routes: "${line}" ${diagnostic}`,
    ]);
  });

  it('names any method, but one that looks misspelt only where a route names it', async () => {
    const told = (line: string, route = EVERYWHERE[0] ?? '') =>
      diagnosticsIn(`buckets: { b: { user: 5/5s } }\nroutes: { ${line}: b }\n`, [route]);
    for (const line of ['BREW /a', 'LIST /a', 'REPORT /a'])
      expect((await told(line)).join(), line).not.toContain('method');
    expect(await told('PURGES /a')).toEqual([
      '2:11: routes: "PURGES /a" is not a route: "PURGES" is not a method, did you mean "PURGE"?',
    ]);
    expect(
      (await told('PURGES /a', 'path: /a, methods: [PURGES], authentication: none')).join(),
    ).not.toContain('is not a method, did');
  });

  it('names a bucket that exists, and costs at most what each number of it allows', async () => {
    const buckets = 'buckets: { b: { user: 20/5s, resource: 50/5s, main: id, shadow: { bot: 9/5s } } }';
    const lineOf = async (line: string) =>
      (await diagnosticsIn(`${buckets}\nroutes: { "/{id}": ${line} }\n`)).join();
    expect(await lineOf('{ bucket: b, cost: 9 }')).toBe('');
    expect(await lineOf('{ bucket: b, cost: 10 }')).toContain(
      ': routes./{id}.cost: a request costs at most the smallest number of its bucket, and "b" has 9/5s: write at most 9',
    );
    expect(await lineOf('{ bucket: nobody, cost: 5 }')).toContain(
      'routes./{id}.bucket: no bucket is named "nobody"',
    );
    expect(await lineOf('{ cost: 5 }')).toContain('expected the name of a bucket');
    expect(await lineOf('{ bucket: b, cost: 0 }')).toContain(
      'expected a whole number from 1 to 65535, found 0',
    );
    expect(await lineOf('{ bucket: b, price: 5 }')).toContain('unknown key "price"');
  });

  it('names a bucket that exists, in words alone', async () => {
    expect(
      await diagnosticsIn('buckets: { messages: { user: 5/5s } }\nroutes: { /a: message, /b: messages }\n'),
    ).toEqual(['2:15: routes./a: no bucket is named "message", did you mean "messages"?']);
  });

  it('has the main parameter of its bucket', async () => {
    expect(
      await diagnosticsOfBucket('main: channel_id, user: 5/5s', ['/a/{channel_id}', '/b/{chanel_id}', '/c']),
    ).toEqual([
      '5:3: routes: "/b/{chanel_id}" has no {channel_id}, by which the bucket "b" counts, did you mean "chanel_id"?',
      '6:3: routes: "/c" has no {channel_id}, by which the bucket "b" counts',
    ]);
  });

  it('matches no request that another matches just as well', async () => {
    expect(
      await diagnosticsOfBucket('user: 5/5s', ['GET /a/{x}', 'POST /a/{x}', '/a/{x}', '"GET /A/{y}/"']),
    ).toEqual(['7:3: routes: "GET /A/{y}/" matches the same requests as line 4']);
  });

  it('matches other requests than one of another host', async () => {
    expect(
      await diagnosticsOfBucket('user: 5/5s', ['/a', 'a.test/a', '"*.test/a"', 'GET A.test/a', 'a.test./A/']),
    ).toEqual(['8:3: routes: "a.test./A/" matches the same requests as line 5']);
  });

  it('is worth a warning when more specific ones hide it', async () => {
    expect(await diagnosticsOfBucket('user: 5/5s', ['/a/**', '/a', '/a/{x}/**'])).toEqual([
      '4:3: warning: routes: no request reaches "/a/**": more specific ones (line 5, 6) take them all',
    ]);
  });
});

describe('a caller who is listed', () => {
  const LISTED =
    'blocked: { callers: [{ client: a }, { client: a, subject: b }] }\nnever_restrict: [{ subject: b }]\n';

  it('is named by each of the claims that identify it', async () => {
    expect(await diagnosticsIn(LISTED)).toEqual([
      '2:18: never_restrict[0]: a caller is listed by the claims that identify it in gateway.yaml: { client, subject } for a user, or { client } for a bot',
    ]);
    const withoutBots = IDENTITY.replace(', bots: { claim: client_id }', '');
    expect(await diagnosticsIn(LISTED, EVERYWHERE, withoutBots)).toEqual([
      '1:22: blocked.callers[0]: a caller is listed by the claims that identify it in gateway.yaml: { client, subject } for a user',
      '2:18: never_restrict[0]: a caller is listed by the claims that identify it in gateway.yaml: { client, subject } for a user',
    ]);
    const other = IDENTITY.replace('audience: any', 'audience: any, principal: [tenant, sub]');
    expect(
      await diagnosticsIn('blocked: { callers: [{ tenant: x, subject: b }] }\n', EVERYWHERE, other),
    ).toEqual([]);
  });

  it('needs tokens to be known by', async () => {
    const gateway = 'upstreams: { api: { url: "http://api:3000" } }\nlimits: limits.yaml\n';
    const routes = ['path: /**, authentication: none'];
    expect(await diagnosticsIn('never_restrict: [{ client: a, subject: b }]\n', routes, gateway)).toEqual([
      '1:18: never_restrict[0]: without a provider in gateway.yaml every caller is an address: list addresses instead',
    ]);
  });
});

describe('a bucket', () => {
  it('does not have the name of the global limit where responses tell both', async () => {
    const named = (headers: string) =>
      diagnosticsIn(`headers: ${headers}\nbuckets: { global: { user: 5/5s } }\nroutes: { /: global }\n`);
    expect(await named('[x-ratelimit]')).toEqual([]);
    expect(await named('[x-ratelimit, ratelimit]')).toEqual([
      '2:12: buckets: the global limit has the name "global" in the RateLimit header: give the bucket another name',
    ]);
  });

  it('that no line leads to is worth a warning', async () => {
    expect(
      await diagnosticsIn('buckets: { b: { user: 5/5s }, c: { user: 5/5s } }\nroutes: { /: b }\n'),
    ).toEqual(['1:31: warning: buckets: no line of "routes" uses the bucket "c"']);
  });

  it('that limits no caller is an error', async () => {
    expect(await diagnosticsOfBucket('algorithm: smooth', ['/'])).toEqual([
      '2:3: buckets: the bucket "b" limits nobody: write a quota for user, bot, address or resource, such as user: 20/5s',
    ]);
  });

  it('with a resource limit needs a main parameter', async () => {
    expect(await diagnosticsOfBucket('resource: 5/5s', ['/'])).toEqual([
      '2:8: buckets.b: "resource" limits all callers together for each value of the main parameter: name that parameter with "main"',
    ]);
  });

  it('may be tried in shadow, beside its numbers or on a share of callers, but not in two of these ways', async () => {
    expect(await diagnosticsOfBucket('shadow: { user: 5/5s }', ['/'])).toEqual([]);
    expect(await diagnosticsOfBucket('user: 5/5s, enforce: 10%', ['/'])).toEqual([]);
    expect(await diagnosticsOfBucket('user: 5/5s, shadow: true, enforce: 10%', ['/'])).toEqual([
      '2:34: buckets.b: "enforce" already puts the bucket in shadow for all other callers: leave out "enforce" or "shadow"',
    ]);
    expect(await diagnosticsOfBucket('user: 5/5s, shadow: {}', ['/'])).toEqual([
      '2:20: buckets.b: "shadow" has no quota to try: write true, or a quota such as user: 10/5s',
    ]);
    expect(await diagnosticsOfBucket('user: 5/5s, shadow: { resource: 5/5s }', ['/'])).toEqual([
      '2:30: buckets.b.shadow: "resource" needs a main parameter: name it with "main" of the bucket',
    ]);
    expect(await diagnosticsOfBucket('user: 5/5s, enforce: 10', ['/'])).toEqual([
      '2:29: buckets.b.enforce: expected a percentage from 1% to 100%, found 10',
    ]);
    expect(await diagnosticsOfBucket('shadow: true', ['/'])).toEqual([
      '2:3: buckets: the bucket "b" limits nobody: write a quota for user, bot, address or resource, such as user: 20/5s',
    ]);
  });

  it('may try other numbers on a share of callers, and a hint says who then has none', async () => {
    const said = async (keys: string) => {
      const result = await loadFiles({
        'gateway.yaml': `${IDENTITY}routes: [{ path: /**, upstream: api, authentication: optional }]\n`,
        'limits.yaml': `buckets:\n  b: { ${keys} }\nroutes: { /a: b }\n`,
      });
      if (!result.ok) throw new Error(diagnosticsOf(result).join('\n'));
      return [...result.warnings, ...result.hints].map(({ message }) => message);
    };
    expect(await said('user: 20/5s, shadow: { user: 10/5s }, enforce: 10%')).toEqual([]);
    expect(await said('user: 20/5s, shadow: { bot: 10/5s }, enforce: 10%')).toEqual([]);
    expect(await said('user: 20/5s, enforce: 10%')).toEqual([
      expect.stringContaining(
        'callers outside this share (10%) are not limited. If a number is in force for all callers today, keep it and write the new one under "shadow"',
      ),
    ]);
    expect(await said('bot: 20/5s, shadow: { user: 10/5s }, enforce: 10%')).toEqual([
      expect.stringContaining('callers outside this share (10%) are not limited by its number for user.'),
    ]);
    expect(await said('user: 20/5s, shadow: { user: 10/5s }, enforce: 100%')).toEqual([
      expect.stringContaining('puts the numbers of "shadow" in force for nobody'),
    ]);
  });

  it('that several lines lead to brings a hint about its scope, unless it says one', async () => {
    const hintsOf = async (keys: string) => {
      const result = await loadFiles({
        'gateway.yaml': `${IDENTITY}routes: [{ path: /**, upstream: api, authentication: optional }]\n`,
        'limits.yaml': `buckets:\n  b: { user: 5/5s${keys} }\nroutes: { /a: b, /b: b }\n`,
      });
      if (!result.ok) throw new Error(diagnosticsOf(result).join('\n'));
      expect(result.warnings).toEqual([]);
      return result.hints.map(formatDiagnostic);
    };
    expect(await hintsOf('')).toEqual([
      expect.stringMatching(/limits\.yaml:2:3: hint: buckets: the scope of the bucket "b" is "shared"/),
      expect.stringMatching(/limits\.yaml:2:3: hint: buckets: nothing restricts an address/),
    ]);
    expect(await hintsOf(', scope: user')).toEqual([]);
    expect(await hintsOf(', scope: shared')).toEqual([]);
  });

  describe('with one line that covers several routes', () => {
    const hintsOf = async (
      keys: string,
      { line = '/v1/**', authentication = 'optional', more = '' } = {},
    ): Promise<string[]> => {
      const result = await loadFiles({
        'gateway.yaml': `${IDENTITY}routes: [{ path: /**, upstream: api, authentication: ${authentication} }]\n`,
        'limits.yaml': `buckets:\n  b: { ${keys} }\nroutes: { ${line}: b }\n${more}`,
      });
      if (!result.ok) throw new Error(diagnosticsOf(result).join('\n'));
      expect(result.warnings).toEqual([]);
      return result.hints.map(formatDiagnostic);
    };
    const scope = expect.stringMatching(
      /hint: buckets: the scope of the bucket "b" is "shared" because its line ends in "\/\*\*" and so covers several routes/,
    );
    const flood = expect.stringMatching(
      /hint: buckets: nothing restricts an address that floods the bucket "b": .*write "scope: user".*"ignored_refusals: \{ addresses: true \}"/,
    );

    it('brings a hint about its scope, and about floods from addresses', async () => {
      expect(await hintsOf('user: 5/5s')).toEqual([scope, flood]);
      expect(await hintsOf('user: 5/5s', { more: 'ignored_refusals: off\n' })).toEqual([scope, flood]);
    });

    it('brings no hint about floods where they are restricted, or where there are no addresses', async () => {
      expect(await hintsOf('user: 5/5s', { more: 'ignored_refusals: { addresses: true }\n' })).toEqual([
        scope,
      ]);
      expect(await hintsOf('user: 5/5s', { line: '/api/**', authentication: 'required' })).toEqual([scope]);
    });

    it('brings none if it says its scope', async () => {
      expect(await hintsOf('user: 5/5s, scope: user')).toEqual([]);
      expect(await hintsOf('user: 5/5s, scope: shared')).toEqual([]);
      expect(await hintsOf('user: 5/5s', { line: '/v1/a' })).toEqual([]);
    });
  });
});

describe('a line that no route of gateway.yaml takes requests to', () => {
  const NONE = (at: string, line: string) =>
    `${at}: warning: routes: no route of gateway.yaml serves a request that "${line}" matches`;

  it('is worth a warning', async () => {
    const routes = [
      'path: /v1/**, methods: [GET, POST], authentication: optional',
      'path: "/v2/{id}", authentication: optional',
    ];
    const lines = [
      '/v1/a',
      'GET /v1/b',
      'HEAD /v1/c',
      'PUT /v1/a',
      '/v2',
      '/v2/a/**',
      '/v2/7',
      '/v3/**',
      '/**',
    ];
    expect(await diagnosticsOfBucket('user: 5/5s', lines, routes)).toEqual([
      NONE('7:3', 'PUT /v1/a'),
      NONE('8:3', '/v2'),
      NONE('11:3', '/v3/**'),
    ]);
  });

  it('is absent where the gateway itself serves the path', async () => {
    expect(await diagnosticsOfBucket('address: 5/5s', ['POST /v1/anonymous/auth'], ['path: /v2'])).toEqual(
      [],
    );
  });

  it('is not looked for while a route of gateway.yaml is wrong', async () => {
    const diagnostics = await diagnosticsOfBucket('user: 5/5s', ['/v1'], ['path: v1']);
    expect(diagnostics).toEqual([expect.stringMatching(/^gateway\.yaml:/)]);
  });
});

describe('a quota for a class that no caller can have', () => {
  const REQUIRED = 'path: /a/**, authentication: required';
  const NONE = 'path: /b/**, authentication: none';
  const BY_TOKEN =
    '"address" has no effect: the routes of this bucket require a token, and without one only the global limit applies';
  const BY_ADDRESS = (key: string) =>
    `"${key}" has no effect: the routes of this bucket ignore tokens, so every caller is an address`;

  it.each([
    ['address: 1/1s, user: 5/5s', ['/a/x'], [BY_TOKEN]],
    ['address: 1/1s, user: 5/5s', ['/a/x', '/b/x'], []],
    ['address: 1/1s', ['/a/x', '/b/x'], []],
    ['user: 5/5s', ['/b/x'], []],
    ['user: 5/5s, address: 1/1s', ['/b/x'], [BY_ADDRESS('user')]],
    ['bot: 5/5s, address: 1/1s', ['/b/x'], [BY_ADDRESS('bot')]],
    ['user: 5/5s, bot: 5/5s', ['/a/x'], []],
    ['bot: 5/5s', ['/a/x'], []],
  ])('with { %s } on %j is reported: %j', async (keys, lines, messages) => {
    const hints = await hintsOfBucket(keys, lines, [REQUIRED, NONE]);
    expect(hints.map(hint => hint.replace(/^2:\d+: buckets\.b: /, ''))).toEqual(messages);
  });

  it('is reported for addresses where a route requires something of tokens', async () => {
    const route = (more: string) => [`path: /a/**, authentication: optional${more}`];
    const hints = (more: string) => hintsOfBucket('address: 1/1s, user: 5/5s', ['/a/x'], route(more));
    expect(await hints('')).toEqual([]);
    expect(await hints(', require: { scopes: [x] }')).toEqual([expect.stringContaining(BY_TOKEN)]);
  });

  it('is a hint, since one limits.yaml may serve several gateways, and so keeps none from starting', async () => {
    const files = filesOf(textOfBucket('user: 5/5s, address: 1/1s', ['/a/x']), [REQUIRED], IDENTITY);
    expect(await loadFiles(files)).toMatchObject({ ok: true, warnings: [], hints: [{ severity: 'hint' }] });
  });

  it('is reported for bots if no caller is one', async () => {
    const identity = IDENTITY.replace(', bots: { claim: client_id }', '');
    expect(await hintsOfBucket('user: 5/5s, bot: 5/5s', ['/a'], EVERYWHERE, identity)).toEqual([
      '2:20: buckets.b: "bot" has no effect: gateway.yaml has no rule for "bots"',
    ]);
  });

  it('is judged by the route that takes the requests, not by those it hides', async () => {
    const routes = ['path: /**, authentication: none', 'path: "/a/{id}", authentication: required'];
    const address = (line: string) => hintsOfBucket('address: 1/1s', [line], routes);
    expect(await address('/a/7')).toHaveLength(1);
    expect(await address('"/a/{any}"')).toHaveLength(1);
    expect(await address('/a/7/b')).toEqual([]);
    expect(await address('/a/**')).toEqual([]);
  });

  it('is told by the methods too', async () => {
    const routes = ['path: /a, methods: [GET], authentication: required', 'path: /a, authentication: none'];
    const address = (line: string) => hintsOfBucket('address: 1/1s', [line], routes);
    expect(await address('GET /a')).toHaveLength(1);
    expect(await address('POST /a')).toEqual([]);
    expect(await address('/a')).toEqual([]);
  });

  it('is not reported while a line has no route, as when an operator removes one', async () => {
    const [keys, lines] = ['address: 1/1s, user: 5/5s', ['/a/x', '/c']];
    expect(await hintsOfBucket(keys, lines, [REQUIRED])).toEqual([]);
    expect(await diagnosticsOfBucket(keys, lines, [REQUIRED])).toEqual([
      expect.stringContaining('warning: routes: no route of gateway.yaml serves a request that'),
    ]);
  });
});

describe('a quota that a smaller limit hides', () => {
  const said = async (
    keys: string,
    { authentication = 'optional', more = '', route = '' } = {},
  ): Promise<string[]> => {
    const result = await loadFiles({
      'gateway.yaml': `${IDENTITY}routes: [{ path: /a, upstream: api, authentication: ${authentication}${route} }]\n`,
      'limits.yaml': `buckets:\n  b: { ${keys} }\nroutes: { "/a": b }\n${more}`,
    });
    if (!result.ok) throw new Error(diagnosticsOf(result).join('\n'));
    return result.warnings.map(({ message }) => message);
  };
  const BY_GLOBAL = (quota: string, global: string) =>
    `buckets.b.user: ${quota} is never reached: the global limit, ${global}, refuses before`;

  it('is worth a warning where the global limit is below it', async () => {
    expect(await said('user: 60/1s')).toEqual([BY_GLOBAL('60 in 1s', '50 in 1s')]);
    expect(await said('user: 501/10s')).toEqual([BY_GLOBAL('501 in 10s', '50 in 1s')]);
    expect(await said('user: 60/1s', { more: 'global: { user: 55/1m, address: 30/1s }\n' })).toEqual([
      BY_GLOBAL('60 in 1s', '55 in 1m'),
    ]);
    expect(await said('user: 600/10s, algorithm: smooth')).toEqual([BY_GLOBAL('600 in 10s', '50 in 1s')]);
  });

  it.each([
    ['as much over another period', 'user: 500/10s', {}],
    ['a burst that is used up in time', 'user: 100/10s, algorithm: smooth', {}],
    ['a burst at once', 'user: 50/1s, algorithm: smooth', {}],
    ['no global limit', 'user: 60/1s', { more: 'global: off\n' }],
    ['none for these callers', 'user: 60/1s', { more: 'global: { user: off, address: off }\n' }],
    ['one in shadow', 'user: 60/1s', { more: 'global: { shadow: true }\n' }],
    ['an exempt route', 'user: 60/1s', { route: ', global_limit: exempt' }],
    ['one class that reaches it', 'user: 60/1s', { more: 'global: { address: 90/1s }\n' }],
    ['a class that nobody has', 'user: 9/1s, address: 60/1s', { authentication: 'required' }],
    ['a bucket in shadow', 'user: 60/1s, shadow: true', {}],
  ])('but not with %s', async (_, keys, more) => {
    expect(await said(keys, more)).toEqual([]);
  });

  it('is found for classes, and for both numbers that a claim may say', async () => {
    const result = async (keys: string, global: string) => {
      const loaded = await loadFiles({
        'gateway.yaml': `${IDENTITY.replace('access_tokens: {', 'access_tokens: { classes: { gold: { claim: gold } },')}routes: [{ path: "/{id}", upstream: api }]\n`,
        'limits.yaml': `buckets:\n  b: { main: id, ${keys} }\nroutes: { "/{id}": b }\nglobal: ${global}\n`,
      });
      if (!loaded.ok) throw new Error(diagnosticsOf(loaded).join('\n'));
      return loaded.warnings.map(({ message }) => message);
    };
    const gold = 'buckets.b.classes.gold';
    expect(await result('user: 9/1s, classes: { gold: 60/1s }', '{ user: 50/1s }')).toEqual([
      `${gold}: 60 in 1s is never reached: the global limit, 50 in 1s, refuses before`,
    ]);
    const ofGold = '{ user: 50/1s, classes: { gold: 20/1s } }';
    expect(await result('user: 30/1s, classes: { gold: 30/1s }', ofGold)).toEqual([
      `${gold}: 30 in 1s is never reached: the global limit, 20 in 1s, refuses before`,
    ]);
    expect(await result('user: 9/1s, classes: { gold: 60/1s }', '{ classes: { gold: off } }')).toEqual([]);
    // Callers of the class have the quota of users, and reach it.
    expect(await result('user: 60/1s', '{ classes: { gold: 90/1s } }')).toEqual([]);
    expect(await result('user: 20/5s, classes: { gold: 8/5s }, resource: 10/5s', 'off')).toEqual([
      'buckets.b.user: 20 in 5s is never reached: the limit of all callers together, 10 in 5s, refuses before',
    ]);
    expect(await result('user: { claim: rate, max: 60/1s, otherwise: 5/1s }', '{}')).toEqual([
      'buckets.b.user.max: 60 in 1s is never reached: the global limit, 50 in 1s, refuses before',
    ]);
    expect(await result('group: { claim: team, limit: 20/5s }, resource: 10/5s', 'off')).toEqual([
      'buckets.b.group.limit: 20 in 5s is never reached: the limit of all callers together, 10 in 5s, refuses before',
    ]);
  });

  it('is worth a warning where the limit of all callers together is below it', async () => {
    const result = async (keys: string) => {
      const loaded = await loadFiles({
        'gateway.yaml': `${IDENTITY}routes: [{ path: "/{id}", upstream: api }]\n`,
        'limits.yaml': `buckets:\n  b: { main: id, ${keys} }\nroutes: { "/{id}": b }\n`,
      });
      if (!loaded.ok) throw new Error(diagnosticsOf(loaded).join('\n'));
      return loaded.warnings.map(({ message }) => message);
    };
    expect(await result('user: 20/5s, resource: 10/5s')).toEqual([
      'buckets.b.user: 20 in 5s is never reached: the limit of all callers together, 10 in 5s, refuses before',
    ]);
    expect(await result('user: 20/5s, resource: 30/1m')).toEqual([]);
    expect(await result('user: 20/10s, resource: 10/5s')).toEqual([]);
    expect(await result('user: 20/10s, resource: 15/5s, algorithm: smooth')).toEqual([]);
  });
});

describe('long quotas and large numbers', () => {
  const LINES = ['/v1/**'];
  const TO_KEEP = [
    'X-RateLimit-Limit and X-RateLimit-Remaining: try yours with this number',
    'the wait of a 429 may be longer than 65535 seconds',
  ];

  it.each([
    ['65535/18h', []],
    ['65536/1s', TO_KEEP.slice(0, 1)],
    ['5/19h', TO_KEEP.slice(1)],
  ])('%s: what clients may not be able to keep: %j', async (quota, messages) => {
    const hints = await hintsOfBucket(`user: ${quota}`, LINES);
    const expected = messages.map(message => expect.stringContaining(message));
    expect(hints.filter(hint => hint.includes('65535'))).toEqual(expected);
  });

  it('are a warning where a restart would forget what is counted in a day or longer', async () => {
    const forgets = '2:14: warning: buckets.b.user: a restart forgets what is counted in this window';
    const warnings = async (quota: string, more = '') =>
      (
        await diagnosticsIn(textOfBucket(`user: ${quota}, scope: user`, LINES), EVERYWHERE, IDENTITY + more)
      ).filter(line => line.includes('restart'));
    expect(await warnings('5/24h')).toEqual([expect.stringContaining(forgets)]);
    expect(await warnings('5/23h')).toEqual([]);
    expect(await warnings('5/24h', 'store: { redis: "redis://127.0.0.1" }\n')).toEqual([]);
    expect(await warnings('5/24h', 'state: { folder: /var/lib/weir, counters: 1h }\n')).toEqual([]);
    expect(await warnings('5/24h', 'state: /var/lib/weir\n')).toEqual([expect.stringContaining(forgets)]);
  });
});

describe('periods of the calendar', () => {
  it.each([
    ['user: 5/day', []],
    [
      'user: 5/day, algorithm: smooth',
      ['a smooth bucket has no day: write a period such as 5/24h, or leave out'],
    ],
    [
      'shadow: { user: 7/month }, algorithm: smooth',
      ['a smooth bucket has no month: write a period such as 7/31d'],
    ],
    [
      'group: { claim: org, limit: 5/week }, algorithm: smooth',
      ['a smooth bucket has no week: write a period such as 5/7d'],
    ],
  ])('%s: %j', async (keys, errors) => {
    const found = (await diagnosticsOfBucket(keys, ['/v1/**'])).filter(line =>
      line.includes('smooth bucket'),
    );
    expect(found).toEqual(errors.map(error => expect.stringContaining(error)));
  });

  it('need a zone that exists', async () => {
    expect(await diagnosticsIn('time_zone: Europe/Berlim')).toEqual([
      '1:12: time_zone: "Europe/Berlim" is not a time zone of the IANA database, did you mean "Europe/Berlin"?',
    ]);
    for (const [zone, advice] of [['local', ': write UTC, or a name such as Europe/Berlin']])
      expect(await diagnosticsIn(`time_zone: ${zone}`)).toEqual([
        `1:12: time_zone: "${zone}" is not a time zone of the IANA database${advice}`,
      ]);
    expect(await diagnosticsIn('time_zone: 1')).toEqual([
      '1:12: time_zone: expected the name of a time zone such as Europe/Berlin, found 1',
    ]);
    expect(await diagnosticsIn('time_zone: America/Argentina/Buenos_Aires')).toEqual([]);
  });

  it.each([
    ['invalid_requests: { limit: 5/day }', '5/24h'],
    ['failed_verifications: 5/month', '5/31d'],
  ])('are for limits alone: %s', async (text, instead) => {
    expect(await diagnosticsIn(text)).toEqual([
      expect.stringContaining(`only limits count by the calendar: write a window such as ${instead}`),
    ]);
    expect(await diagnosticsIn('invalid_requests: { limit: 0/week }')).toEqual([
      expect.stringContaining('write a number from 1'),
    ]);
  });

  it('of max and otherwise are the same', async () => {
    const claimed = (otherwise: string) => `user: { claim: rate, max: 9/day, otherwise: ${otherwise} }`;
    const wrong = (keys: string) =>
      diagnosticsOfBucket(keys, ['/v1/**']).then(all => all.filter(line => line.includes('its period')));
    expect(await wrong(claimed('5/24h'))).toEqual([expect.stringContaining('write 5/day')]);
    expect(await wrong(claimed('5/day'))).toEqual([]);
  });
});

describe('a list of quotas', () => {
  const found = async (keys: string) =>
    (await diagnosticsOfBucket(`${keys}, scope: user`, ['/v1/**'])).filter(
      line => !line.includes('a restart forgets'),
    );

  it.each([
    'user: [5/1s]',
    'user: [5/1s, 50/1m, 100/1h, 200/day]',
    'user: 9/1s, bot: [5/1s, 100/day], address: [5/1s, 100/day]',
    'group: { claim: org, limit: [5/1s, 100/day] }',
    'main: id, resource: [5/1s, 100/day]',
    'user: 9/1s, shadow: { user: [5/1s, 100/day] }',
  ])('is accepted: %s', async keys => {
    const lines = keys.includes('main') ? ['/v1/{id}'] : ['/v1/**'];
    const errors = await diagnosticsOfBucket(`${keys}, scope: user`, lines);
    expect(errors.filter(line => !line.includes('warning:'))).toEqual([]);
  });

  it('is accepted in global', async () => {
    expect(
      await diagnosticsIn('global: { user: [50/1s, 1000/1h], classes: { partner: [5/1s, 9/1h] } }'),
    ).toEqual([]);
  });

  it.each([
    ['user: []', 'expected a number and a period such as 20/5s'],
    ['user: [1/1s, 2/2s, 3/3s, 4/4s, 5/5s]', 'a list has at most 4 quotas'],
    ['user: [5/1s, 6/1000ms]', 'a period from 1s to 31d'],
    ['user: [5/60s, 6/1m]', 'another quota of this list has this period: 1m'],
    ['user: [5/1s, off]', '"off" is not a quota'],
    [
      'user: { claim: rate, max: [5/1s, 9/1m], otherwise: 5/1s }',
      'expected a number and a period such as 20/5s',
    ],
    ['user: 5/1s, concurrent: [4]', 'expected a whole number from 1 to 65535'],
  ])('is refused: %s', async (keys, message) => {
    expect(await found(keys)).toEqual([expect.stringContaining(message)]);
  });

  it('is none of a rule that restricts', async () => {
    expect(await diagnosticsIn('invalid_requests: { limit: [5/1s, 9/1m] }')).toEqual([
      expect.stringContaining('expected a number and a period such as 20/5s'),
    ]);
  });

  it.each([
    ['[5/1s, 3/1m]', '5 in 1s is never reached: 3 in 1m, of the same list, refuses before'],
    ['[5/1s, 400/1m]', '400 in 1m is never reached: 5 in 1s, of the same list, refuses before'],
    ['[5/1s, 100/1m, 90/1h]', '100 in 1m is never reached: 90 in 1h, of the same list, refuses before'],
    ['[5/day, 36/week]', '36 a week is never reached: 5 a day, of the same list, refuses before'],
    // Two days are in one window of 24 hours, and six weeks in one month.
    ['[5/day, 11/24h]', '11 in 24h is never reached: 5 a day, of the same list, refuses before'],
    ['[5/week, 31/month]', '31 a month is never reached: 5 a week, of the same list, refuses before'],
  ])('%s has a quota that is never reached', async (list, message) => {
    const messages = await found(`user: ${list}`);
    expect(messages.filter(each => each.includes('never reached'))).toEqual([
      expect.stringContaining(message),
    ]);
  });

  it.each(['[5/day, 9/24h]', '[5/24h, 9/day]', '[5/week, 28/month]', '[28/month, 5/week]'])(
    '%s has quotas of which each may be reached: their windows do not begin together',
    async list => {
      const messages = await found(`user: ${list}`);
      expect(messages.filter(message => message.includes('never reached'))).toEqual([]);
    },
  );

  it('is compared with the lists of the global limit, quota by quota', async () => {
    const text = `global: { user: [50/1s, 100/1h], bot: off }\n${textOfBucket('user: [5/1s, 200/1h], scope: user', ['/v1/**'])}`;
    const hidden = (await diagnosticsIn(text)).filter(line => line.includes('the global limit'));
    expect(hidden).toEqual([]);
    const all = text.replace('bot: off', 'bot: [50/1s, 100/1h], address: [50/1s, 100/1h]');
    expect(await diagnosticsIn(all)).toEqual([
      expect.stringContaining('200 in 1h is never reached: the global limit, 100 in 1h, refuses before'),
    ]);
  });

  it('bounds a cost by its smallest number', async () => {
    const text =
      'buckets: { b: { user: [5/1s, 3/1m], scope: user } }\nroutes: { /v1/**: { bucket: b, cost: 4 } }\n';
    expect((await diagnosticsIn(text)).filter(line => line.includes('costs at most'))).toEqual([
      expect.stringContaining('"b" has 3/1m: write at most 3'),
    ]);
  });
});

describe('a quota of costs', () => {
  const found = async (keys: string, line = 'b') => {
    const routes = `routes: { "/v1/{id}": ${line} }`;
    const all = await diagnosticsIn(
      `buckets:\n  b: { main: id, ${keys}, scope: user }\n${routes}\n`,
      EVERYWHERE,
    );
    return all
      .filter(each => !/a restart forgets|65535/.test(each))
      .map(each => each.replace(/^[\d:]+ /, ''));
  };

  it.each([
    'user: { limit: 200/1m, unit: cost }',
    'user: [60/1m, { limit: 200/1m, unit: cost }, { limit: 2000/day, unit: cost }]',
    'user: 60/1m, classes: { partner: [{ limit: 200/1m, unit: cost }] }',
    'user: 60/1m, group: { claim: org, limit: { limit: 200/1m, unit: cost } }',
    'user: 60/1m, resource: [600/1m, { limit: 200/1m, unit: cost }]',
    'user: 60/1m, shadow: { user: [60/1m, { limit: 200/1m, unit: cost }] }',
    // A cost is no number of requests, so neither hides the other.
    'user: { limit: 200000/1m, unit: cost }, resource: 90/1m',
  ])('is accepted: %s', async keys => {
    expect((await found(keys)).filter(line => !line.includes('hint:'))).toEqual([]);
  });

  it.each([
    [
      'user: { limit: 200/1m, unit: requests }',
      'user.unit: expected cost: a quota of requests is written alone, as 20/5s, found "requests"',
    ],
    [
      'user: { limit: 200, unit: cost }',
      'user.limit: expected a number and a period such as 20/5s, found 200',
    ],
    [
      'user: { limit: 200/1m }',
      'user: missing key "unit": expected cost: a quota of requests is written alone, as 20/5s',
    ],
    ['user: [{ limits: 200/1m, unit: cost }]', 'user[0]: unknown key "limits", did you mean "limit"?'],
    [
      'user: [{ limit: 200/1m, unit: cost }, 60/1m, { limit: 300/1m, unit: cost }]',
      'user[2]: another quota of this list has this period: 1m/cost',
    ],
    [
      'user: [{ limit: 2000/1m, unit: cost }, { limit: 300/1h, unit: cost }]',
      'user[0]: warning: a cost of 2000 in 1m is never reached: a cost of 300 in 1h, of the same list, refuses before',
    ],
    [
      'user: { limit: 2000/1m, unit: cost }, resource: { limit: 300/1m, unit: cost }',
      'user.limit: warning: a cost of 2000 in 1m is never reached: the limit of all callers together, a cost of 300 in 1m, refuses before',
    ],
  ])('%s: %s', async (keys, message) => {
    const [place, ...text] = message.split(': ');
    const severity = text[0] === 'warning' ? 'warning: ' : '';
    const rest = text.slice(severity === '' ? 0 : 1).join(': ');
    expect(await found(keys)).toEqual([expect.stringContaining(`${severity}buckets.b.${place}: ${rest}`)]);
  });

  it('is what bounds the cost of a line, whatever the other quotas are', async () => {
    const keys = 'user: [5/1m, { limit: 200/1m, unit: cost }]';
    expect(await found(keys, '{ bucket: b, cost: 200 }')).toEqual([]);
    expect(await found(keys, '{ bucket: b, cost: 201 }')).toEqual([
      'routes./v1/{id}.cost: a request costs at most the smallest number of its bucket, and "b" has 200/1m: write at most 200',
    ]);
  });

  it('is for buckets alone', async () => {
    expect(await diagnosticsIn('global: { user: { limit: 5/1s, unit: cost } }')).toEqual([
      expect.stringContaining(
        'global.user: expected off, or a number and a period such as 1000/1m, found a map',
      ),
    ]);
  });
});

describe('a price that the response tells', () => {
  const found = async (cost: string, keys = 'user: [60/1m, { limit: 200/1m, unit: cost }]') => {
    const routes = `routes: { /v1/**: { bucket: b, cost: ${cost} } }`;
    const all = await diagnosticsIn(`buckets:\n  b: { ${keys}, scope: user }\n${routes}\n`, EVERYWHERE);
    return all.map(each => each.replace(/^[\d:]+ /, '').replace('routes./v1/**.', ''));
  };

  it('comes with a hint at what may be admitted before the first one is known', async () => {
    const hints = async (cost: string) => {
      const text = `buckets: { b: { user: [60/1m, { limit: 200/1m, unit: cost }], scope: user } }
routes: { /v1/**: { bucket: b, cost: ${cost} } }
`;
      const result = await loadFiles(filesOf(text, EVERYWHERE, IDENTITY));
      return result.ok ? result.hints.map(({ message }) => message) : diagnosticsOf(result);
    };
    expect(await hints('{ response_field: X-Usage, reserve: 60, most: 500 }')).toEqual([
      'routes./v1/**.cost.most: of 200/1m, 3 requests may be admitted before the price of the first is known, which together may cost up to 1500: a higher "reserve" lowers that',
    ]);
    expect(await hints('{ response_field: X-Usage, most: 500 }')).toEqual([
      expect.stringContaining(
        '200 requests may be admitted before the price of the first is known, which together may cost up to 100000',
      ),
    ]);
    expect(await hints('{ response_field: X-Usage, reserve: 60, most: 60, pass: true }')).toEqual([]);
  });

  it.each([
    [
      '{ response_field: X-Usage, reserve: 6, most: 5 }',
      'cost.most: 5 is less than "reserve": write at least 6, or lower "reserve"',
    ],
    [
      '{ response_field: X-Usage, reserve: 6 }',
      'cost: missing key "most": expected a whole number from 1 to 1000000000',
    ],
    ['{ most: 6 }', 'cost: missing key "response_field"'],
    [
      '{ response_field: X Usage, most: 6 }',
      'cost.response_field: expected the name of a header field such as X-Usage, found "X Usage"',
    ],
    [
      '{ response_field: X-RateLimit-Limit, most: 6 }',
      'cost.response_field: the gateway itself reads or writes this field: name another',
    ],
    [
      '{ response_field: Content-Length, most: 6 }',
      'cost.response_field: the gateway itself reads or writes this field: name another',
    ],
    [
      '{ response_field: grpc-status, most: 6 }',
      'cost.response_field: the gateway itself reads or writes this field: name another',
    ],
    ...['Location', 'set-cookie', 'Access-Control-Allow-Origin', 'ETag', 'Content-Language'].map(name => [
      `{ response_field: ${name}, most: 6 }`,
      `cost.response_field: "${name}" is a field with another meaning for clients: name one for prices alone, such as X-Usage`,
    ]),
    [
      '{ response_field: X-Usage, reserve: lots, most: 6 }',
      'cost.reserve: expected a whole number from 1 to 1000000000, found "lots"',
    ],
    ['{ response_field: X-Usage, most: 6, max: 7 }', 'cost: unknown key "max"'],
    [
      'lots',
      'cost: expected a whole number from 1 to 65535, or a map such as { response_field: X-Usage, reserve: 100, most: 20000 }, found "lots"',
    ],
    [
      '{ response_field: X-Usage, reserve: 201, most: 300 }',
      'cost.reserve: a request costs at most the smallest number of its bucket, and "b" has 200/1m: write at most 200',
    ],
  ])('%s: %s', async (cost, message) => {
    expect((await found(cost)).filter(each => !each.startsWith('hint:'))).toEqual([
      expect.stringContaining(message),
    ]);
  });

  it('needs a quota of costs, in windows', async () => {
    const cost = '{ response_field: X-Usage, most: 5 }';
    expect(await found(cost, 'user: 60/1m')).toEqual([
      'cost.response_field: a price in the response needs a quota with "unit: cost" in the bucket "b", such as user: { limit: 200000/day, unit: cost }',
    ]);
    expect(await found(cost, 'user: { limit: 60/1m, unit: cost }, algorithm: smooth')).toEqual([
      expect.stringContaining('cost.response_field: in a smooth bucket units return all the time'),
    ]);
  });
});

describe('give_back', () => {
  const ENTRY = '[0]: expected a status from 200 to 599, or a class such as 5xx';

  it.each([
    ['[]', ': expected a list of statuses such as [404, 5xx], found an empty list'],
    ['all', ': expected a list of statuses such as [404, 5xx], found "all"'],
    ['404', ': expected a list of statuses such as [404, 5xx], found 404'],
    ['700', ': expected a list of statuses such as [404, 5xx], found 700'],
    ['[700]', `${ENTRY}, found 700`],
    ['[199]', `${ENTRY}, found 199`],
    ['[2xy]', `${ENTRY}, found "2xy"`],
    ['["2x"]', `${ENTRY}, found "2x"`],
    ['[[404]]', `${ENTRY}, found a list`],
  ])('is no list of statuses: %s', async (list, message) => {
    const [diagnostic = '', ...others] = await diagnosticsOfBucket(
      `user: 5/1s, scope: user, give_back: ${list}`,
      ['/v1/**'],
    );
    expect(diagnostic.replace(/^.*give_back/, '')).toBe(message);
    expect(others).toEqual([]);
  });

  it('names each status once', async () => {
    expect(await diagnosticsOfBucket('user: 5/1s, scope: user, give_back: [404, 404]', ['/v1/**'])).toEqual([
      expect.stringContaining('give_back[1]: 404 is listed twice'),
    ]);
  });

  it('hints at answers that somebody may provoke, and at success without a global limit', async () => {
    const hints = async (list: string) =>
      (await hintsOfBucket(`user: 5/1s, give_back: ${list}`, ['/v1/**'])).filter(hint =>
        hint.includes('limit'),
      );
    expect(await hints('[404]')).toEqual([]);
    expect(await hints('[2xx]')).toEqual([]);
    for (const list of ['[5xx]', '[503]'])
      expect(await hints(list)).toEqual([expect.stringContaining('can provoke such an answer')]);
    const text = `global: off\n${textOfBucket('user: 5/1s, scope: user, give_back: [2xx]', ['/v1/**'])}`;
    const loaded = await loadFiles(filesOf(text, EVERYWHERE, IDENTITY));
    expect(loaded.ok && loaded.hints.map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('without a global limit nothing limits the requests that succeed'),
      ]),
    );
  });
});
