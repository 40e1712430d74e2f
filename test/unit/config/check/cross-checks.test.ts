import { describe, expect, it } from 'vitest';
import { diagnosticsIn, NEEDED } from '../../../support/config-text.ts';

const UPSTREAMS = `upstreams: { api: { url: "http://api:3000" } }\nroutes:\n`;

/** The diagnostics of these routes, written from line 3 on, path in column 11. */
function diagnosticsOfRoutes(...routes: string[]): Promise<string[]> {
  const lines = routes.map(route => `  - { path: ${route}, upstream: api, authentication: none }\n`);
  return diagnosticsIn(UPSTREAMS + lines.join(''));
}

describe('the upstream of a route', () => {
  it('must exist', async () => {
    const route = (name: string) => `  - { path: /${name}, upstream: ${name}, authentication: none }\n`;
    expect(await diagnosticsIn(UPSTREAMS + route('api') + route('app') + route('database'))).toEqual([
      '4:29: routes[1].upstream: no upstream is named "app", did you mean "api"?',
      '5:34: routes[2].upstream: no upstream is named "database"',
    ]);
  });

  it('may be one whose own keys are wrong', async () => {
    const text =
      'upstreams: { api: { url: 1 } }\nroutes: [{ path: /, upstream: api, authentication: none }]\n';
    expect(await diagnosticsIn(text)).toHaveLength(1);
  });

  it('is not looked for where upstreams or routes are of another kind', async () => {
    const list = 'upstreams:\n  - api\nroutes: [{ path: /, upstream: api, authentication: none }]\n';
    expect(await diagnosticsIn(list)).toEqual([
      expect.stringMatching(/^2:3: upstreams: expected a map such as/),
    ]);
    const map = 'upstreams: { api: { url: "http://api" } }\nroutes: { /: api }\n';
    expect(await diagnosticsIn(map)).toEqual([
      expect.stringMatching(/^2:9: routes: expected a list of routes/),
    ]);
  });

  it('is not looked for where the upstreams are missing altogether', async () => {
    expect(await diagnosticsIn('routes: [{ path: /, upstream: api, authentication: none }]\n')).toEqual([
      '1:1: missing key "upstreams": expected a map such as { api: { url: "http://api.internal:3000" } }',
    ]);
  });
});

describe('an upstream that no route uses', () => {
  const UNUSED = `upstreams:
  api: { url: "http://api" }
  old: { url: "http://old" }
routes:
`;

  it('is worth a warning', async () => {
    expect(await diagnosticsIn(`${UNUSED}  - { path: /, upstream: api, authentication: none }\n`)).toEqual([
      '3:3: warning: upstreams: no route uses the upstream "old"',
    ]);
  });

  it('is not said to be unused while a route names one that does not exist', async () => {
    expect(await diagnosticsIn(`${UNUSED}  - { path: /, upstream: alt, authentication: none }\n`)).toEqual([
      '5:26: routes[0].upstream: no upstream is named "alt"',
    ]);
  });
});

describe('two routes', () => {
  it('may not match the same requests, however they are written', async () => {
    expect(await diagnosticsOfRoutes('"/v1/users/{id}"', '/v1/users', '"/V1/Users/{name}/"')).toEqual([
      '5:13: routes[2].path: this route matches the same requests as the one in line 3',
    ]);
  });

  it('may share a path when no method is in both', async () => {
    expect(
      await diagnosticsOfRoutes(
        '/a, methods: [GET]',
        '/a, methods: [POST]',
        '/a',
        '/a, methods: [PUT, POST]',
      ),
    ).toEqual(['6:13: routes[3].path: this route matches the same requests as the one in line 4']);
  });

  it('may share a path on two hosts, and not on one', async () => {
    expect(
      await diagnosticsOfRoutes(
        '/a, hosts: [a.test, b.test]',
        '/a, hosts: ["*.test"]',
        '/a',
        '/A/, hosts: [c.test, B.test.]',
      ),
    ).toEqual([
      '6:34: routes[3].hosts[1]: this route matches the same requests on "b.test" as the one in line 3',
    ]);
    expect(
      await diagnosticsOfRoutes(
        '/v1/**, hosts: [b.test, a.test]',
        '/v1, hosts: [a.test]',
        '"/v1/{x}/**", hosts: [a.test]',
      ),
    ).toEqual([
      '3:37: warning: routes[0].hosts[1]: no request on "a.test" reaches this route: more specific ones (line 4, 5) take them all',
    ]);
    expect(await diagnosticsOfRoutes('/v1/anonymous/auth, hosts: [a.test, b.test]')).toEqual([
      '3:13: routes[0].path: the gateway serves this path itself on every host, for sign-in: remove the route',
    ]);
  });

  it('are compared even if other keys of them are wrong', async () => {
    const text = `${UPSTREAMS}  - { path: /a, upstream: api, authentication: 1 }
  - { path: /a, upstream: nope, x: 1 }
`;
    expect(await diagnosticsIn(text)).toEqual([
      expect.stringMatching(/^3:48: routes\[0\]\.authentication: expected/),
      expect.stringMatching(/^4:5: routes\[1\]: a route requires a token/),
      '4:13: routes[1].path: this route matches the same requests as the one in line 3',
      '4:27: routes[1].upstream: no upstream is named "nope"',
      '4:33: routes[1]: unknown key "x"',
    ]);
  });
});

describe('a route that others hide', () => {
  it('is worth a warning that names them', async () => {
    expect(await diagnosticsOfRoutes('/a/**', '/a', '"/a/{x}/**"')).toEqual([
      '3:13: warning: routes[0].path: no request reaches this route: more specific ones (line 4, 5) take them all',
    ]);
  });
});

describe('a listener for the PROXY protocol', () => {
  const listening = (listener: string, rest = '') =>
    diagnosticsIn(
      `upstreams: {}\nroutes: []\nlisten: { http: { address: "127.0.0.1:0", ${listener} } }\n${rest}`,
    );

  it.each(['', 'trusted_proxies: []\n', 'trusted_proxies: none\n'])(
    'needs a trusted proxy (%j)',
    async trusted => {
      expect(await listening('proxy_protocol: true', trusted)).toEqual([
        '3:59: listen.http.proxy_protocol: no proxy is trusted to send the PROXY header: list your load balancers under trusted_proxies',
      ]);
    },
  );

  it.each([
    ['proxy_protocol: true', 'trusted_proxies: [10.1.0.0/16]\n'],
    ['proxy_protocol: false', ''],
  ])('is sound with one, or when it is off (%s, %j)', async (listener, trusted) => {
    expect(await listening(listener, trusted)).toEqual([]);
  });

  it('is for clients alone', async () => {
    const admin =
      'upstreams: {}\nroutes: []\nlisten: { admin: { address: "127.0.0.1:0", proxy_protocol: true } }\n';
    expect(await diagnosticsIn(admin)).toEqual([
      expect.stringContaining('listen.admin: unknown key "proxy_protocol"'),
    ]);
  });
});

describe('the two listeners', () => {
  const listen = (http: string, admin: string) =>
    diagnosticsIn(
      `${UPSTREAMS.replace('routes:\n', 'routes: []\n')}listen: { http: "${http}", admin: "${admin}" }\n`,
    );
  const TAKEN = expect.stringContaining('listen.admin: http already listens on this address');

  it.each([
    ['127.0.0.1:80', '127.0.0.1:80'],
    ['0.0.0.0:80', '127.0.0.1:80'],
    ['127.0.0.1:80', '[::]:80'],
    ['[::]:80', '[::1]:80'],
  ])('may not be one: %s and %s', async (http, admin) => {
    expect(await listen(http, admin)).toContainEqual(TAKEN);
  });

  it.each([
    ['127.0.0.1:80', '127.0.0.1:81'],
    ['127.0.0.1:80', '127.0.0.2:80'],
    ['127.0.0.1:0', '127.0.0.1:0'],
    ['127.0.0.1:80', 'off'],
  ])('may be apart: %s and %s', async (http, admin) => {
    expect(await listen(http, admin)).not.toContainEqual(TAKEN);
  });

  it('are compared by their defaults too', async () => {
    expect(await diagnosticsIn('upstreams: {}\nroutes: []\nlisten: { http: 0.0.0.0:9090 }\n')).toEqual([
      '3:9: listen.admin: http already listens on this address: use another port',
    ]);
  });
});

describe('the keep-alive of clients', () => {
  const withKeepAlive = (time: string) => diagnosticsIn(`${NEEDED}timeouts: { keep_alive: ${time} }\n`);

  it('is warned of where it is shorter than the pauses of clients', async () => {
    expect(await withKeepAlive('64s')).toEqual([
      '3:25: warning: timeouts.keep_alive: clients and load balancers that pause for a minute would find their connections closed: use 65s or more',
    ]);
  });

  it.each(['65s', '2m'])('may be %s', async time => {
    expect(await withKeepAlive(time)).toEqual([]);
  });
});

describe('counters that are kept over a restart', () => {
  const STATE = 'state: { folder: /var/lib/weir, counters: 1h }\n';

  it('are those in memory: with Redis they change nothing', async () => {
    expect(await diagnosticsIn(`${STATE}store: { redis: "redis://127.0.0.1" }\n${NEEDED}`)).toEqual([
      expect.stringContaining('warning: state: with Redis limits are counted there'),
    ]);
    expect(await diagnosticsIn(STATE + NEEDED)).toEqual([]);
  });

  it('have windows of a minute to a day', async () => {
    expect(await diagnosticsIn(STATE.replace('1h', '30s') + NEEDED)).toEqual([
      expect.stringContaining('expected a time from 1m to 24h'),
    ]);
  });
});

describe('paths that are not redirected to https', () => {
  const LISTEN = 'listen: { redirect: { address: "127.0.0.1:80", except: [PATHS] } }\n';
  const UNTRUE = /there is no https/;

  async function found(paths: string): Promise<string[]> {
    const routes = `  - { path: /health, upstream: api, authentication: none }
  - { path: /a/**, upstream: api, authentication: optional }
  - { path: /a/open/**, upstream: api, authentication: none }
`;
    const all = await diagnosticsIn(`${LISTEN.replace('PATHS', paths)}${UPSTREAMS}${routes}`);
    return all.filter(line => !UNTRUE.test(line) && !/identity_provider/.test(line));
  }

  it('are warned of where no route takes them, and where their route takes tokens', async () => {
    expect(await found('/health, /a/open/x')).toEqual([]);
    expect(await found('/health, "/.well-known/acme-challenge/**"')).toEqual([
      expect.stringContaining(
        'warning: listen.redirect.except[1]: no route takes this path: it gets 404 over http',
      ),
    ]);
    expect(await found('"/a/{id}"')).toEqual([
      expect.stringContaining(
        'warning: listen.redirect.except[0]: the route in line 5 takes tokens, which others can read over http: except only open paths',
      ),
    ]);
  });

  it('are written as paths of routes are', async () => {
    expect((await found('health'))[0]).toContain(
      'listen.redirect.except[0]: a path starts with "/": write "/health"',
    );
  });
});
