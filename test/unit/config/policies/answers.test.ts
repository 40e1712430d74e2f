import { describe, expect, it } from 'vitest';
import { routeOfCaller } from '../../../../src/config/index.ts';
import { explain } from '../../../../src/explain/index.ts';
import { changesInWords, diagnosticsIn, loadText } from '../../../support/config-text.ts';

const HEAD = `upstreams: { api: { url: "http://api:3000" }, next: { url: "http://next:3000" } }
routes:
  - { path: /used, upstream: { api: 1, next: 99 }, authentication: none }
`;
const withRoute = (keys: string) => `${HEAD}  - { path: /a, ${keys} }\n`;
const wrongIn = async (keys: string) =>
  (await diagnosticsIn(withRoute(keys))).map(line => line.replace(/^[\d:]+ routes\[1\]/, ''));

async function snapshotOf(keys: string) {
  const loaded = await loadText(withRoute(keys));
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  return loaded.snapshot;
}

describe('redirect and respond', () => {
  it.each([
    'redirect: { to: "https://new.example.com/" }',
    'redirect: { to: "HTTP://[::1]:8080/a?b=%20#c", status: 301 }',
    'redirect: { to: /new, status: 307 }',
    'respond: { status: 200 }',
    'respond: { status: 599, body: "ä", headers: { Content-Type: text/plain, Set-Cookie: a=b } }',
    'respond: { status: 204 }, methods: [GET], cors: false, global_limit: exempt, semicolons: pass',
  ])('may be %s, without a token', async keys => {
    expect(await wrongIn(keys)).toEqual([]);
    expect((await snapshotOf(keys)).outline.routes[1]?.value.authentication).toBe('none');
  });

  const PLACE =
    'a redirect takes over the path as https://new.example.com{path}, directly after the host, or its end as /new/{rest}, after a slash';
  const TO = 'expected an http or https URL such as https://new.example.com/, or a path such as /new';
  it.each([
    ['redirect: { to: new }', `.redirect.to: ${TO}, found "new"`],
    ['redirect: { to: "//evil.example" }', `.redirect.to: ${TO}, found "//evil.example"`],
    ['redirect: { to: "/\\\\evil.example" }', `.redirect.to: ${TO}, found "/\\\\evil.example"`],
    ['redirect: { to: "javascript:alert(1)" }', `.redirect.to: ${TO}, found "javascript:alert(1)"`],
    ['redirect: { to: "https://a:b@c.example/" }', `.redirect.to: ${TO}, found "...@c.example/"`],
    [
      'redirect: { to: "https://0x7f.1/" }',
      '.redirect.to: the host is an IPv4 address in an unusual form: write four decimal numbers, such as 127.0.0.1',
    ],
    ['redirect: { to: "https:///x" }', `.redirect.to: ${TO}, found "https:///x"`],
    ['redirect: { to: "https://a.example/ b" }', `.redirect.to: ${TO}, found "https://a.example/ b"`],
    [
      'redirect: { to: "/new/{rest}" }',
      '.redirect.to: {rest} is what "**" matched, and the path of this route does not end with it',
    ],
    [
      'redirect: { to: "https://0x7f.1{path}" }',
      '.redirect.to: the host is an IPv4 address in an unusual form: write four decimal numbers, such as 127.0.0.1',
    ],
    [
      'redirect: { to: /new, status: 300 }',
      '.redirect.status: expected 301, 302, 303, 307 or 308, found 300',
    ],
    [
      'redirect: {}',
      '.redirect: missing key "to": expected an http or https URL such as https://new.example.com/, or a path such as /new',
    ],
    ['respond: { status: 199 }', '.respond.status: expected a status from 200 to 599, found 199'],
    ['respond: { status: 600 }', '.respond.status: expected a status from 200 to 599, found 600'],
    [
      'respond: { status: 204, body: x }',
      '.respond.body: a response with status 204 has no body: leave it out',
    ],
    [
      'respond: { status: 304, body: x }',
      '.respond.body: a response with status 304 has no body: leave it out',
    ],
    [`respond: { status: 200, body: ${'x'.repeat(16_385)} }`, '.respond.body: a body has at most 16 KiB'],
    [
      'respond: { status: 200, headers: { Content-Length: "3" } }',
      '.respond.headers: the gateway writes or removes "Content-Length" itself: leave it out',
    ],
    [
      'respond: { status: 200, headers: { X-A: b, x-a: c } }',
      '.respond.headers: "x-a" is named twice: keep one',
    ],
    [
      'respond: { status: 200 }, upstream: api, authentication: none',
      ': a route has one of upstream, redirect, respond: keep "upstream" or "respond"',
    ],
    [
      'respond: { status: 200 }, redirect: { to: / }',
      ': a route has one of upstream, redirect, respond: keep "redirect" or "respond"',
    ],
    [
      'respond: { status: 200 }, websocket: true',
      ': "websocket" is about an upstream, and none serves this route: leave it out',
    ],
    [
      'respond: { status: 200 }, max_body: 1KiB',
      ': "max_body" is about an upstream, and none serves this route: leave it out',
    ],
    [
      'redirect: { to: / }, strip_prefix: /a',
      ': "strip_prefix" is about an upstream, and none serves this route: leave it out',
    ],
    [
      'redirect: { to: / }, request_headers: { remove: [X-A] }',
      ': "request_headers" is about an upstream, and none serves this route: leave it out',
    ],
    [
      'redirect: { to: / }, require: { scopes: [a] }',
      '.require: no caller could meet it: "authentication: none" ignores tokens. Leave out one of the two',
    ],
    [
      'respond: { status: 200 }, authentication: required',
      '.authentication: there is no "identity_provider" to check tokens with: add one, or write none',
    ],
  ])('%s is refused', async (keys, message) => {
    expect((await wrongIn(keys)).map(line => line.replace(/^(\.\w+)?: (?=no caller)/, '.require: '))).toEqual(
      [message],
    );
  });

  it.each(['/new/{id}', 'https://a.example{path}{path}', '/{rest}/{rest}', '/a{', 'https://{host}/'])(
    'take over no other parameter, and one at most: %s',
    async to => {
      const text = `${HEAD}  - { path: /a/**, redirect: { to: "${to}" } }\n`;
      expect((await diagnosticsIn(text))[0]).toContain(`${PLACE}; other parameters are not possible`);
    },
  );

  it.each([
    ...['{path}', '/new{path}', 'https://a.example/{path}', 'https://{path}', 'https:{path}'],
    ...[
      'https://a.example?{path}',
      'https://a@{path}',
      'https://a.example#{path}',
      '{rest}',
      'https://{rest}',
    ],
    ...['https://a.example{rest}', '/new{rest}', 'https://a.example/?b=/{rest}', '/new#/{rest}', '//{rest}'],
    ...['https:/{rest}', 'https:///{rest}', '/a?{rest}', 'https://a@b.example/{rest}', 'javascript:/{rest}'],
  ])('take over the path only where it changes no host: not as %s', async to => {
    const text = `${HEAD}  - { path: /a/**, redirect: { to: "${to}" } }\n`;
    const message = (await diagnosticsIn(text))[0] ?? '';
    expect(message).toContain(`routes[1].redirect.to: ${PLACE}`);
    expect(message).not.toContain('other parameters');
  });

  it('are warned of where they lead in a circle', async () => {
    const circle = [
      '.redirect.to: this route takes that path itself: clients would be redirected in a circle',
    ];
    const warned = async (path: string, to: string, more = '') => {
      const text = `${HEAD}  - { path: ${path}, redirect: { to: ${to} } }\n${more}`;
      return (await diagnosticsIn(text)).map(line => line.replace(/^[\d:]+ warning: routes\[1\]/, ''));
    };
    expect(await warned('/old/**', '/old/new?x#y')).toEqual(circle);
    expect(await warned('/old', '"/OLD/"')).toEqual(circle);
    expect(await warned('/old/**', '"/old/new/{rest}"')).toEqual(circle);
    expect(await warned('/old/**', '"/new/{rest}"')).toEqual([]);
    expect(await warned('/old', '/new')).toEqual([]);
    expect(await warned('/**', '/app', '  - { path: /app, upstream: api, authentication: none }\n')).toEqual(
      [],
    );
    expect(await warned('/**, hosts: ["*.example.com"]', '/app')).toEqual(circle);
    expect(await warned('/**', 'https://www.example.com/app')).toEqual([]);
  });

  it('are no way to serve gRPC', async () => {
    const text = `${HEAD}  - { grpc: a.B/*, respond: { status: 200 } }\nlisten: { grpc: "127.0.0.1:0" }\n`;
    expect((await diagnosticsIn(text)).join()).toContain(
      '"respond" does not apply to gRPC calls: name an upstream',
    );
  });

  it('are explained and compared', async () => {
    const caller = { as: null, address: null, principal: null };
    const [one, other] = [
      await snapshotOf('redirect: { to: /new }'),
      await snapshotOf('respond: { status: 410, body: gone }'),
    ];
    const told = (snapshot: typeof one) => explain({ method: 'GET', target: '/a', caller }, snapshot).rows;
    expect(told(one)).toContainEqual(['answer', '308 to /new, with the query of the request']);
    expect(told(other)).toContainEqual(['answer', '410, with a body of 4 bytes']);
    expect(told(other).map(([about]) => about)).not.toContain('timeouts');
    expect(changesInWords(other.outline, one.outline)).toEqual([
      'neutral: /a: answer 410, with a body of 4 bytes, before 308 to /new, with the query of the request',
    ]);
    const changed = await snapshotOf('respond: { status: 410, body: away }');
    expect(changesInWords(changed.outline, other.outline)).toEqual([
      'neutral: /a: answer with other fields or another body, before its own',
    ]);
    const served = await snapshotOf('upstream: api, authentication: none');
    expect(changesInWords(served.outline, one.outline)).toEqual([
      'mixed: /a: served by api, before answered with 308 to /new, with the query of the request',
    ]);
  });
});

describe('shares of upstreams', () => {
  it.each([
    ['upstream: { api: 95, next: 4 }', '.upstream: the shares of callers add up to 99, not to 100'],
    ['upstream: { api: 95, next: 6 }', '.upstream: the shares of callers add up to 101, not to 100'],
    ['upstream: {}', '.upstream: the shares of callers add up to 0, not to 100'],
    ['upstream: { api: 101 }', '.upstream.api: expected a whole number from 0 to 100, found 101'],
    [
      'upstream: { api: 99.5, next: 0.5 }',
      '.upstream.api: expected a whole number from 0 to 100, found 99.5',
    ],
    ['upstream: { api: 50, nxt: 50 }', '.upstream: no upstream is named "nxt", did you mean "next"?'],
  ])('%s is refused', async (keys, message) => {
    expect((await wrongIn(`${keys}, authentication: none`))[0]).toBe(message);
  });

  it('each have to fit to the route', async () => {
    const text = `${withRoute('upstream: { api: 50, next: 50 }, websocket: true, authentication: none').replace('next:3000" }', 'next:3000", protocol: h2 }')}`;
    expect((await diagnosticsIn(text)).join()).toContain(
      'WebSockets need HTTP/1.1: the upstream "next" speaks h2',
    );
  });

  it('are as large as they say', async () => {
    const [, route] = (await snapshotOf('upstream: { api: 95, next: 5 }, authentication: none')).outline
      .routes;
    if (route?.value.kind !== 'forward') throw new Error('not forwarded');
    const forwarded = route.value;
    const callers = Array.from({ length: 10_000 }, (_, index) => `user:app ${index}`);
    const ofNext = callers.filter(caller => routeOfCaller(forwarded, caller).upstream.name === 'next').length;
    expect(ofNext).toBeGreaterThan(430);
    expect(ofNext).toBeLessThan(570);
    expect(forwarded.upstream.name).toBe('api');
  });

  it('are explained and compared, and the order of the file means nothing', async () => {
    const one = await snapshotOf('upstream: { api: 95, next: 5 }, authentication: none');
    const same = await snapshotOf('upstream: { next: 5, api: 95 }, authentication: none');
    expect(changesInWords(same.outline, one.outline)).toEqual([]);
    const more = await snapshotOf('upstream: { api: 50, next: 50 }, authentication: none');
    expect(changesInWords(more.outline, one.outline)).toEqual([
      'neutral: /a: upstream api 50%, next 50%, before api 95%, next 5%',
    ]);
    const told = (address: string | null) =>
      explain(
        { method: 'GET', target: '/a', caller: { as: null, address, principal: null } },
        more,
      ).rows.find(([about]) => about === 'shares')?.[1];
    expect(told(null)).toBe(
      'api for 50%, next for 50% of callers; which one this caller uses is unknown: name the caller, or its address',
    );
    const sides = Array.from({ length: 16 }, (_, index) => told(`192.0.2.${index}`) ?? '');
    expect(new Set(sides)).toEqual(
      new Set([
        'api for 50%, next for 50% of callers; this one goes to api',
        'api for 50%, next for 50% of callers; this one goes to next',
      ]),
    );
  });
});
