import { describe, expect, it } from 'vitest';
import type { Requirement } from '../../../../src/identity/auth/index.ts';
import { judgeRequirements, shortfallIn } from '../../../../src/identity/auth/requirement.ts';

const NOTHING: Requirement = { index: 0, scopes: [], roles: [], claims: [] };

/** What a token with these claims, which may be JSON, lacks of one requirement. */
function lacking(
  claims: Readonly<Record<string, unknown>> | string,
  requirement: Partial<Requirement>,
  roleClaims: readonly string[] = [],
) {
  const read = typeof claims === 'string' ? JSON.parse(claims) : claims;
  const one = { ...NOTHING, ...requirement };
  return shortfallIn(judgeRequirements(read, [one], roleClaims), one);
}

describe('a scope', () => {
  const read = { scopes: ['orders.read'] };

  it.each([
    [{ scope: 'orders.read' }],
    [{ scope: 'openid orders.read profile' }],
    [{ scp: 'openid orders.read' }],
    [{ scp: ['openid', 'orders.read'] }],
    [{ scope: ['openid', 'orders.read'] }],
    [{ scope: ['openid', 7, null, 'orders.read'] }],
    [{ scope: 'openid', scp: ['orders.read'] }],
    [{ scope: ['openid'], scp: 'orders.read' }],
    [{ scope: '  orders.read  ' }],
  ])('is granted by %j', claims => {
    expect(lacking(claims, read)).toBeNull();
  });

  it.each([
    [{}],
    [{ scope: '' }],
    [{ scope: 'orders.readall' }],
    [{ scope: 'xorders.read' }],
    [{ scope: 'orders.read.all orders' }],
    [{ scope: 'Orders.Read' }],
    [{ scope: 'orders.read,openid' }],
    [{ scope: 'openid\torders.read' }],
    [{ scope: 'openid\u00a0orders.read' }],
    [{ scope: ['openid orders.read'] }],
    [{ scope: [['orders.read']] }],
    [{ scope: { 'orders.read': true } }],
    [{ scope: null }],
    [{ scp: ['openid orders.read'] }],
    [{ scp: [['orders.read']] }],
    [{ scp: { 0: 'orders.read' } }],
    [{ scp: 7 }],
    [{ scopes: ['orders.read'] }],
  ])('is not granted by %j', claims => {
    expect(lacking(claims, read)).toBe('scopes');
  });

  it('counts as one of several that are all needed', () => {
    const both = { scopes: ['orders.read', 'orders.write'] };
    expect(lacking({ scope: 'orders.write orders.read' }, both)).toBeNull();
    expect(lacking({ scope: 'orders.read' }, both)).toBe('scopes');
    expect(lacking({ scope: 'orders.read', scp: ['orders.write'] }, both)).toBeNull();
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'may be named %s, which every object has',
    name => {
      expect(lacking({ scope: 'openid' }, { scopes: [name] })).toBe('scopes');
      expect(lacking({ scope: `openid ${name}` }, { scopes: [name] })).toBeNull();
    },
  );
});

describe('a role', () => {
  const clerk = { roles: [{ client: null, name: 'clerk' }] };
  const clerkOfOrders = { roles: [{ client: 'orders-api', name: 'clerk' }] };

  it('of the realm is one that Keycloak lists there', () => {
    expect(lacking({ realm_access: { roles: ['user', 'clerk'] } }, clerk)).toBeNull();
    expect(lacking({ realm_access: { roles: ['Clerk', 'clerks'] } }, clerk)).toBe('roles');
  });

  it('of a client is one that Keycloak lists at this client, and nowhere else', () => {
    expect(lacking({ resource_access: { 'orders-api': { roles: ['clerk'] } } }, clerkOfOrders)).toBeNull();
    expect(lacking({ resource_access: { 'other-api': { roles: ['clerk'] } } }, clerkOfOrders)).toBe('roles');
    expect(lacking({ realm_access: { roles: ['clerk', 'orders-api:clerk'] } }, clerkOfOrders)).toBe('roles');
    expect(lacking({ groups: ['orders-api:clerk'] }, clerkOfOrders, ['groups'])).toBe('roles');
  });

  it('of some client is none of the realm', () => {
    expect(lacking({ resource_access: { 'orders-api': { roles: ['clerk'] } } }, clerk)).toBe('roles');
    expect(lacking({ resource_access: { roles: ['clerk'] } }, clerk)).toBe('roles');
  });

  it('may be listed by another claim, if the configuration names it', () => {
    expect(lacking({ groups: ['staff', 'clerk'] }, clerk, ['groups'])).toBeNull();
    expect(lacking({ role: 'clerk' }, clerk, ['groups', 'role'])).toBeNull();
    expect(lacking({ role: 'staff clerk' }, clerk, ['role'])).toBe('roles');
    expect(lacking({ groups: ['clerk'] }, clerk)).toBe('roles');
  });

  it.each([
    [{ realm_access: ['clerk'] }],
    [{ realm_access: 'clerk' }],
    [{ realm_access: null }],
    [{ realm_access: { roles: 'clerk' } }],
    [{ realm_access: { roles: { clerk: true } } }],
    [{ realm_access: { roles: [['clerk'], { clerk: true }, null, 7] } }],
    [{ realm_access: { roles: { roles: ['clerk'] } } }],
    [{ 'realm_access.roles': ['clerk'] }],
    [{ resource_access: { 'orders-api': ['clerk'] } }],
    [{ resource_access: [{ 'orders-api': { roles: ['clerk'] } }] }],
  ])('is not granted by %j', claims => {
    expect(lacking(claims, clerk)).toBe('roles');
    expect(lacking(claims, clerkOfOrders)).toBe('roles');
  });

  it('never comes from the prototype of every object', () => {
    const proto = '{"__proto__":{"realm_access":{"roles":["clerk"]}},"resource_access":{}}';
    expect(lacking(proto, clerk)).toBe('roles');
    for (const client of ['__proto__', 'constructor'])
      expect(lacking('{"resource_access":{}}', { roles: [{ client, name: 'clerk' }] })).toBe('roles');
    const own = '{"resource_access":{"__proto__":{"roles":["clerk"]}}}';
    expect(lacking(own, { roles: [{ client: '__proto__', name: 'clerk' }] })).toBeNull();
    expect(lacking(own, clerkOfOrders)).toBe('roles');
  });
});

describe('a claim', () => {
  const gold = { claims: [{ claim: 'plan', values: ['gold', 'partner', '7', 'true'] }] };

  it.each([['gold'], ['partner'], [7], [true], [['silver', 'gold']]])('may have the value %j', plan => {
    expect(lacking({ plan }, gold)).toBeNull();
  });

  it.each([['silver'], ['gold '], ['Gold'], [null], [undefined], [{ gold: true }], [[['gold']]], [[]], [0]])(
    'may not have the value %j',
    plan => {
      expect(lacking({ plan }, gold)).toBe('claims');
    },
  );

  it('is needed beside every other', () => {
    const both = { claims: [...(gold.claims ?? []), { claim: 'tenant', values: ['a'] }] };
    expect(lacking({ plan: 'gold' }, both)).toBe('claims');
    expect(lacking({ plan: 'gold', tenant: 'a' }, both)).toBeNull();
  });

  it('never comes from the prototype of every object', () => {
    const rule = { claims: [{ claim: '__proto__', values: ['gold'] }] };
    expect(lacking({}, rule)).toBe('claims');
    expect(lacking('{"__proto__":"gold"}', rule)).toBeNull();
    expect(lacking('{"__proto__":{"plan":"gold"}}', gold)).toBe('claims');
  });
});

describe('several requirements', () => {
  it('are judged each by itself', () => {
    const all = [
      { ...NOTHING, scopes: ['a'] },
      { ...NOTHING, index: 1, roles: [{ client: null, name: 'clerk' }] },
      { ...NOTHING, index: 2, claims: [{ claim: 'plan', values: ['gold'] }] },
      { ...NOTHING, index: 3 },
    ];
    const shortfalls = (claims: Readonly<Record<string, unknown>>) => {
      const shortfalls = judgeRequirements(claims, all, []);
      return all.map(each => shortfallIn(shortfalls, each));
    };
    expect(shortfalls({})).toEqual(['scopes', 'roles', 'claims', null]);
    expect(shortfalls({ scope: 'a', plan: 'gold' })).toEqual([null, 'roles', null, null]);
  });

  it('are not met by a token that was judged before they were there', () => {
    expect(judgeRequirements({ scope: 'a' }, [], [])).toBe('');
    expect(shortfallIn('', { ...NOTHING, index: 0 })).not.toBeNull();
    expect(shortfallIn('m', { ...NOTHING, index: 1 })).not.toBeNull();
  });
});

describe('a role of a claim that the configuration names', () => {
  const admin = { roles: [{ client: null, name: 'admin' }] };

  it('may be a key of an object, as ZITADEL writes them', () => {
    const name = 'urn:zitadel:iam:org:project:roles';
    expect(lacking({ [name]: { admin: { '17': 'example.org' } } }, admin, [name])).toBeNull();
    expect(lacking({ [name]: { user: { admin: 'x' } } }, admin, [name])).toBe('roles');
    for (const role of ['constructor', '__proto__'])
      expect(lacking({ [name]: {} }, { roles: [{ client: null, name: role }] }, [name])).toBe('roles');
  });

  it('may stand anywhere in the token, by JSON Pointer', () => {
    const token = {
      resource_access: { api: { roles: ['admin'] }, 'a/b~c': { roles: 'admin' } },
      list: [['admin']],
    };
    for (const pointer of ['/resource_access/api/roles', '/resource_access/a~1b~0c/roles', '/list/0'])
      expect(lacking(token, admin, [pointer])).toBeNull();
    for (const pointer of [
      ...['/resource_access/other/roles', '/list/00', '/list/-'],
      ...['/list/length', '/', '/resource_access/api/roles/0/0'],
    ])
      expect(lacking(token, admin, [pointer])).toBe('roles');
    // Only a name that begins with a slash is a pointer.
    expect(
      lacking({ 'https://example.com/roles': ['admin'] }, admin, ['https://example.com/roles']),
    ).toBeNull();
    expect(lacking({ '/roles': ['admin'] }, admin, ['/roles'])).toBe('roles');
  });
});

it('a claim that a route requires may be named by JSON Pointer', () => {
  const gold = { claims: [{ claim: '/account/plan', values: ['gold'] }] };
  expect(lacking({ account: { plan: 'gold' } }, gold)).toBeNull();
  expect(lacking({ account: { plan: 'free' }, '/account/plan': 'gold' }, gold)).toBe('claims');
});
