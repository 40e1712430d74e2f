import { describe, expect, it } from 'vitest';
import { diagnosticsIn, diagnosticsOf, loadFiles } from '../../../support/config-text.ts';

const ENTRA = '"https://login.microsoftonline.com/{tid}/v2.0"';
const DISCOVERY =
  'discovery_url: "https://login.microsoftonline.com/common/v2.0/.well-known/openid-configuration"';
const REST = `upstreams: { api: { url: "http://api:3000" } }
routes: [{ path: /**, upstream: api }]
`;
const of = (keys: string, tokens = 'audience: api', rest = REST) =>
  `identity_provider: { ${keys} }\naccess_tokens: { ${tokens} }\n${rest}`;
const diagnosticsWith = (...parameters: Parameters<typeof of>) => diagnosticsIn(of(...parameters));
const LISTED = `issuer: ${ENTRA}, issuer_values: [3f2a, 9c1b], ${DISCOVERY}`;
const ANY = `issuer: ${ENTRA}, issuer_values: any, ${DISCOVERY}`;

async function snapshotOf(text: string, limits?: string) {
  const files = { 'gateway.yaml': text, ...(limits === undefined ? {} : { 'limits.yaml': limits }) };
  const result = await loadFiles(files);
  expect(diagnosticsOf(result)).toEqual([]);
  if (!result.ok) throw new Error('not loaded');
  return result.snapshot;
}

describe('an issuer with a placeholder', () => {
  it('stands for the listed tenants, whose callers are known by their tenant', async () => {
    const { identity } = await snapshotOf(
      of(LISTED, 'audience: api, bots: { claim: idtyp, principal: [azp] }'),
    );
    const tenants = {
      ...{ before: 'https://login.microsoftonline.com/', claim: 'tid', after: '/v2.0' },
      values: ['3f2a', '9c1b'],
    };
    expect(identity?.providers[0]).toMatchObject({
      provider: { tenants },
      accessTokens: { tenants, principal: ['tid', 'azp', 'sub'], bots: { principal: ['tid', 'azp'] } },
    });
  });

  it('may stand for any tenant, and leaves a principal that has the claim as it is', async () => {
    const { identity } = await snapshotOf(of(ANY, 'audience: api, principal: [oid, tid]'));
    expect(identity?.providers[0]?.accessTokens).toMatchObject({
      ...{ tenants: { values: null }, principal: ['oid', 'tid'] },
    });
  });

  it('needs its values, and a document', async () => {
    expect(await diagnosticsWith(`issuer: ${ENTRA}`)).toEqual([
      '1:30: identity_provider.issuer: missing key "issuer_values", which says whose tokens are accepted in place of "{tid}" in "issuer", or any',
      '1:30: identity_provider.issuer: missing key "discovery_url": with "{tid}" in "issuer" no document can be found by the issuer',
    ]);
  });

  it.each([
    ['"https://id.example/{a}/{b}"', 'has more than one placeholder'],
    [
      '"https://id.example/x{a}"',
      'has a placeholder that is neither a whole segment of the path nor a whole label before the domain',
    ],
    ['"https://id.example/{}"', 'has a placeholder that names no claim: write {tid}'],
  ])('is refused as %s', async (issuer, why) => {
    expect(await diagnosticsWith(`issuer: ${issuer}, issuer_values: any, ${DISCOVERY}`)).toEqual([
      `1:30: identity_provider.issuer: ${why}`,
    ]);
  });

  it.each([
    ['[]', 'issuer_values: an empty list accepts no token: list a tenant'],
    ['[a, a]', 'issuer_values[1]: "a" is listed twice'],
    [
      '[a/b]',
      'issuer_values[0]: expected a value of 1 to 64 letters, digits, ".", "_" or "-", in quotes if it is a number, found "a/b"',
    ],
    [
      '[".."]',
      'issuer_values[0]: expected a value of 1 to 64 letters, digits, ".", "_" or "-", in quotes if it is a number, found ".."',
    ],
    [
      '[12]',
      'issuer_values[0]: expected a value of 1 to 64 letters, digits, ".", "_" or "-", in quotes if it is a number, found 12',
    ],
    ['all', 'issuer_values: expected any, or a list of values, found "all"'],
  ])('has values of one form: %s', async (values, why) => {
    const [found = '', ...others] = await diagnosticsWith(
      `issuer: ${ENTRA}, issuer_values: ${values}, ${DISCOVERY}`,
    );
    expect(others).toEqual([]);
    expect(found.replace(/^[\d:]+ identity_provider\./, '')).toBe(why);
  });

  it('has values without dots where it is a label of the host', async () => {
    const keys = `issuer: "https://{org}.id.example.com", issuer_values: [acme, "a.b"], ${DISCOVERY}`;
    expect(await diagnosticsWith(keys)).toEqual([
      '1:84: identity_provider.issuer_values[1]: has a dot, which would begin another label of the host',
    ]);
  });

  it('has values only where there is a placeholder', async () => {
    expect(await diagnosticsWith('issuer: "https://id.example", issuer_values: [a]')).toEqual([
      '1:52: identity_provider: "issuer_values" has no effect without a placeholder in "issuer"',
    ]);
  });

  it('allows neither pushes, which name no issuer, nor assertions for an issuer that is none', async () => {
    const client = 'client_id: gateway, client_authentication: none, notices: { not_before_push: admin }';
    const [pushed = ''] = await diagnosticsWith(`${LISTED}, ${client}`);
    expect(pushed).toContain(
      'a push names no issuer, so with "{tid}" in "issuer" nobody knows whose tokens it means',
    );
    const keyed = 'client_id: gateway, client_authentication: private_key_jwt, private_key_file: none.pem';
    const [asserted = ''] = await diagnosticsWith(`${LISTED}, ${keyed}`);
    expect(asserted).toContain(
      'with "{tid}" in "issuer" an assertion cannot be for the issuer: add "client_assertion: { audience: token_endpoint }"',
    );
  });

  it('allows no opaque tokens, whose answers name no tenant', async () => {
    const client = 'client_id: gateway, client_secret: "$' + '{SECRET}"';
    const text = of(`${LISTED}, ${client}`, 'audience: api, opaque_tokens: { cache: 30s }');
    const [found = ''] = await diagnosticsIn(text, { SECRET: 'hunter2' });
    expect(found).toContain(
      'an answer about an opaque token names no tenant: not with a placeholder in "issuer"',
    );
  });

  it('warns of what a stranger could claim, where any tenant is accepted, and of nothing where they are listed', async () => {
    const tokens =
      'audience: api, bots: { claim: idtyp }, classes: { gold: { claim: plan }, known: { callers: [{ tid: 3f2a, client: web, subject: s }] } }';
    const rest = `upstreams: { api: { url: "http://api:3000" } }
routes:
  - { path: /a, upstream: api, require: { claims: { plan: [gold] }, roles: [clerk], scopes: [orders] } }
  - { path: /**, upstream: api }
`;
    const stranger =
      'any tenant is accepted, so a stranger can give this to the tokens of a tenant of their own: list "issuer_values"';
    expect(await diagnosticsWith(ANY, tokens, rest)).toEqual([
      `2:33: warning: access_tokens: ${stranger}`,
      `2:76: warning: access_tokens.classes.gold: ${stranger}`,
      `5:43: warning: routes[0].require: ${stranger}`,
      `5:69: warning: routes[0].require: ${stranger}`,
    ]);
    expect(await diagnosticsWith(LISTED, tokens, rest)).toEqual([]);
  });

  it('is a part of how callers are listed', async () => {
    const tokens = 'audience: api, classes: { known: { callers: [{ client: web, subject: s }] } }';
    expect(await diagnosticsWith(LISTED, tokens)).toEqual([
      '2:63: access_tokens.classes.known.callers[0]: a caller is listed by the claims that identify it in gateway.yaml: { tid, client, subject } for a user',
    ]);
    const { limits } = await snapshotOf(
      `${of(LISTED)}limits: limits.yaml\n`,
      'never_restrict: [{ tid: 3f2a, client: web, subject: s }]\n',
    );
    expect([...limits.neverRestrict.callers]).toEqual(['user:3f2a web s']);
  });

  it('is named to clients by its listed tenants, and not at all where any is accepted', async () => {
    const documentOf = async (keys: string) => {
      const { outline } = await snapshotOf(
        `${of(keys)}protected_resource: { resource: "https://api.example" }\n`,
      );
      const [found] = outline.ownRoutes.flatMap(({ value }) => (value.kind === 'metadata' ? [value] : []));
      return JSON.parse(found?.document ?? '').authorization_servers;
    };
    expect(await documentOf(LISTED)).toEqual(
      ['3f2a', '9c1b'].map(tenant => `https://login.microsoftonline.com/${tenant}/v2.0`),
    );
    expect(await documentOf(ANY)).toBeUndefined();
  });

  it('makes groups of its tenants, each with its own', async () => {
    const limits = 'buckets: { a: { group: { claim: org, limit: 9/1m } } }\nroutes: { /**: a }\n';
    const { limits: model } = await snapshotOf(`${of(ANY)}limits: limits.yaml\n`, limits);
    const claimed = (tenant: string | null) =>
      model.claims?.of({ claims: { org: 'acme' }, issuer: 'template', tenant })?.groups.get('org');
    expect([claimed('https://id/red'), claimed('https://id/blue')]).toEqual([
      ...['https://id/red acme', 'https://id/blue acme'],
    ]);
  });

  it('is not that of another provider as well', async () => {
    const entry = (name: string, issuer: string, values?: string) =>
      `- { name: ${name}, audience: api, issuer: "${issuer}"${values ? `, issuer_values: ${values}, ${DISCOVERY}` : ''} }\n`;
    const both = (...entries: readonly string[]) =>
      diagnosticsIn(`identity_providers:\n${entries.join('')}${REST}`);
    const twins = (line: number, index: number) => [
      expect.stringContaining(
        `identity_providers[${index}].issuer: tokens of the provider in line ${line} may have this issuer as well`,
      ),
    ];
    const any = entry('any', 'https://id.example/{t}', 'any');
    expect(await both(entry('one', 'https://id.example/a'), any)).toEqual(twins(2, 1));
    expect(await both(any, entry('one', 'https://id.example/a'))).toEqual(twins(3, 0));
    expect(await both(any, entry('one', 'https://id.example/a/b'))).toEqual([]);
    const listed = entry('listed', 'https://id.example/{t}', '[b, c]');
    expect(await both(listed, entry('one', 'https://id.example/a'))).toEqual([]);
    expect(await both(listed, entry('one', 'https://id.example/c'))).toEqual(twins(3, 0));
    expect(await both(any, entry('other', 'https://id.example/{u}', 'any'))).toEqual(twins(2, 1));
    expect(await both(any, entry('deep', 'https://id.example/x/{u}', 'any'))).toEqual([]);
    const [first, second] = ['https://id.example/{t}/x', 'https://id.example/y/{u}'];
    expect(await both(entry('first', first, 'any'), entry('second', second, 'any'))).toEqual(twins(2, 1));
    expect(await both(entry('second', second, '[x]'), entry('first', first, '[z]'))).toEqual([]);
  });
});
