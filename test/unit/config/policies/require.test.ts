import { describe, expect, it } from 'vitest';
import type { RouteOfFile } from '../../../../src/config/index.ts';
import { changesInWords, diagnosticsIn, loadText } from '../../../support/config-text.ts';

const HEAD = `identity_provider: { issuer: "https://id" }
access_tokens: { audience: api }
upstreams: { api: { url: "http://api:3000" } }
routes:
`;

const withRoute = (keys: string) => `${HEAD}  - { path: /a, upstream: api, ${keys} }\n`;
const withRequire = (value: string) => withRoute(`require: ${value}`);
/** What is wrong with a value of `require`, without its place. */
const wrongIn = async (value: string) =>
  (await diagnosticsIn(withRequire(value))).map(line => line.replace(/^[\d:]+ routes\[0\]\.require/, ''));

async function requirementsOf(text: string) {
  const loaded = await loadText(text);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  const { routes } = loaded.snapshot.outline;
  return {
    routes: routes.map(({ value }: { readonly value: RouteOfFile }) => value),
    tokens: loaded.snapshot.identity?.providers[0]?.accessTokens,
  };
}

describe('require', () => {
  it('tells the roles of the realm from those of a client', async () => {
    const value = '{ roles: [clerk, "orders-api:clerk", { role: "a:b" }, { client: "urn:x", role: c }] }';
    const { routes } = await requirementsOf(withRequire(value));
    expect(routes[0]?.requirement?.roles).toEqual([
      { client: null, name: 'a:b' },
      { client: 'urn:x', name: 'c' },
      { client: null, name: 'clerk' },
      { client: 'orders-api', name: 'clerk' },
    ]);
  });

  it('is one and the same for routes that require the same, in whatever order', async () => {
    const { routes, tokens } = await requirementsOf(
      `${HEAD}  - { path: /a, upstream: api, require: { scopes: [x, y], claims: { p: [1, 2], q: a } } }
  - { path: /b, upstream: api, require: { claims: { q: [a], p: ["2", "1"] }, scopes: [y, x] } }
  - { path: /c, upstream: api, require: { scopes: [x] } }
  - { path: /d, upstream: api }
`,
    );
    const [a, b, c, d] = routes.map(({ requirement }) => requirement);
    expect(b).toBe(a);
    expect([a?.index, c?.index, d]).toEqual([0, 1, null]);
    expect(tokens?.requirements).toEqual([a, c]);
  });

  it('makes a token necessary beside authentication: optional', async () => {
    const { routes } = await requirementsOf(withRoute('authentication: optional, require: { scopes: [x] }'));
    expect(routes[0]?.authentication).toBe('required');
  });

  it('is a mistake beside authentication: none', async () => {
    expect(await diagnosticsIn(withRoute('authentication: none, require: { scopes: [x] }'))).toEqual([
      '1:1: warning: "identity_provider" has no effect: every route says "authentication: none"',
      '5:54: routes[0]: no caller could meet it: "authentication: none" ignores tokens. Leave out one of the two',
    ]);
  });

  it('is a mistake beside an answer without a service, which is open to everyone unless it says otherwise', async () => {
    const route = (more: string) =>
      diagnosticsIn(
        `${HEAD}  - { path: /b, upstream: api }\n  - { path: /a, respond: { status: 200 }, require: { scopes: [x] }${more} }\n`,
      );
    expect(await route('')).toEqual([expect.stringContaining('"authentication: none" ignores tokens')]);
    expect(await route(', authentication: required')).toEqual([]);
  });

  it.each([
    ['{}', ': requires nothing: write scopes, roles or claims, or leave it out'],
    ['{ scopes: [] }', '.scopes: an empty list requires nothing: leave it out'],
    ['{ claims: {} }', '.claims: requires nothing: write scopes, roles or claims, or leave it out'],
    ['{ claims: { plan: [] } }', '.claims.plan: an empty list requires nothing: leave it out'],
    ['{ scopes: [a, a] }', '.scopes[1]: "a" is listed twice'],
    ['{ scopes: ["a b"] }', '.scopes[0]: expected scopes, each one word, such as [orders.read], found "a b"'],
    [
      '{ scopes: orders.read }',
      '.scopes: expected scopes, each one word, such as [orders.read], found "orders.read"',
    ],
    [
      '{ roles: ["a:b:c"] }',
      '.roles[0]: it is not clear where the client ends: write { client: orders-api, role: "a:b" }, or { role: "a:b" } for a role of the realm',
    ],
    [
      '{ roles: [":a"] }',
      '.roles[0]: expected a role of the realm such as clerk, or of a client such as "orders-api:clerk", found ":a"',
    ],
    ['{ scope: [a] }', ': unknown key "scope", did you mean "scopes"?'],
    ['[a]', ': expected a map such as { scopes: [orders.read] }, found a list'],
  ])('refuses %s', async (value, message) => {
    expect(await wrongIn(value)).toEqual([message]);
  });

  it('is compared by what it demands', async () => {
    const changes = async (before: string, now: string) => {
      const [one, other] = [await loadText(withRoute(before)), await loadText(withRoute(now))];
      if (!one.ok || !other.ok) throw new Error('invalid');
      return changesInWords(other.snapshot.outline, one.snapshot.outline);
    };
    const one = 'require: { scopes: [a], roles: ["x:y"], claims: { plan: [gold, silver], beta: true } }';
    expect(await changes(one, one)).toEqual([]);
    expect(await changes(one, one.replace('[a]', '[a, b]'))).toEqual(['stricter: /a: requires the scope b']);
    expect(await changes(one, one.replace('x:y', 'z:y'))).toEqual([
      'mixed: /a: requires the role y of the client z; no longer requires the role y of the client x',
    ]);
    expect(await changes(one, one.replace('silver', 'bronze'))).toEqual([
      'mixed: /a: the claim plan may no longer be silver; the claim plan may also be bronze',
    ]);
    expect(await changes(one, one.replace(', beta: true', ''))).toEqual([
      'looser: /a: no longer requires the claim beta: true',
    ]);
    expect(await changes('cors: true', 'require: { scopes: [a] }')).toEqual([
      'stricter: /a: requires the scope a',
    ]);
    expect(await changes('authentication: optional', 'require: { scopes: [a] }')).toEqual([
      'stricter: /a: authentication required, before optional; requires the scope a',
    ]);
  });
});
