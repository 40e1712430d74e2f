import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  issuerOfTenant,
  isTenantValue,
  namesTenant,
  namesTenants,
  readTenants,
  type Tenants,
  tenantIn,
} from '../../../src/core/index.ts';
import { played } from '../../support/runs.ts';

const tenantsOf = (issuer: string, values: readonly string[] | null = null): Tenants => {
  const read = readTenants(issuer);
  if (read === null || typeof read === 'string') throw new Error(String(read));
  return { ...read, values };
};
const ENTRA = 'https://login.microsoftonline.com/{tid}/v2.0';
const IN_HOST = 'https://{org}.id.example.com:8443/oauth';

describe('an issuer with a placeholder', () => {
  it.each([
    [ENTRA, 'tid'],
    ['https://sts.windows.net/{tid}/', 'tid'],
    ['https://id.example/{tenant_id}', 'tenant_id'],
    ['http://127.0.0.1:8080/a/{t}/b/c', 't'],
    [IN_HOST, 'org'],
    ['https://eu.{org}.id.example', 'org'],
  ])('may be %s', (issuer, claim) => {
    const tenants = tenantsOf(issuer);
    expect(tenants.claim).toBe(claim);
    expect(issuerOfTenant(tenants, 'a')).toBe(issuer.replace(/\{.*\}/, 'a'));
  });

  it.each([
    ['https://id.example/{a}/{b}', 'has more than one placeholder'],
    ['https://id.example/{}', 'has a placeholder that names no claim: write {tid}'],
    ['https://id.example/{a b}', 'has a placeholder that names no claim: write {tid}'],
    ['https://id.example/{/a}', 'has a placeholder that names no claim: write {tid}'],
    ['https://id.example/{tid', 'has a placeholder that names no claim: write {tid}'],
    ['https://id.example/tid}', 'has a placeholder that names no claim: write {tid}'],
    ['https://id.example/{{tid}}', 'has a placeholder that names no claim: write {tid}'],
    ...[
      ...['https://id.example/realm-{t}', 'https://id.example/{t}-realm', 'https://id.example/{t}.well'],
      ...['https://id.example/?tenant={t}', 'https://id.example/#{t}', 'https://id.example:{t}/'],
      ...['https://{t}@id.example/', 'https://a:{t}@id.example/', 'https://a@b/{t}', '{t}://id.example/'],
      ...['https://{t}', 'https://{t}/', 'https://{t}.com', 'https://id.{t}', 'https://x{t}.id.example'],
      ...['https://id.example\\@evil.example/{t}', 'https://{t}.id.example\\.evil', 'urn:id:{t}', '{t}'],
      ...['https://{t}.id.example/?a', 'https://{t}:8443.id.example', 'https://id.example?a=/{t}/'],
    ].map((issuer): [string, string] => [
      issuer,
      'has a placeholder that is neither a whole segment of the path nor a whole label before the domain',
    ]),
  ])('is not %s', (issuer, why) => {
    expect(readTenants(issuer)).toBe(why);
  });

  it('is none without braces', () => {
    expect(readTenants('https://id.example/realms/main')).toBeNull();
  });
});

test.each([
  ...['a', 'A-1_b.c', '...', '72f988bf-86f1-41af-91ab-2d7cd011db47', 'x'.repeat(64)].map(
    v => [v, true] as const,
  ),
  ...['', '.', '..', 'x'.repeat(65), 'a/b', 'a%2e', 'a b', 'ä', 'a\n', '{tid}', 'a\\b', 'a@b', 'a:1'].map(
    v => [v, false] as const,
  ),
])('the value %j is possible: %s', (value, isPossible) => {
  expect(isTenantValue(value)).toBe(isPossible);
});

describe('the tenant of an issuer', () => {
  it('is what stands in place of the claim', () => {
    expect(tenantIn('https://login.microsoftonline.com/3f2a/v2.0', tenantsOf(ENTRA))).toBe('3f2a');
    expect(tenantIn('https://acme.id.example.com:8443/oauth', tenantsOf(IN_HOST))).toBe('acme');
  });

  it('is one of those listed', () => {
    const tenants = tenantsOf(ENTRA, ['3f2a', '9c1b']);
    expect(tenantIn('https://login.microsoftonline.com/9c1b/v2.0', tenants)).toBe('9c1b');
    expect(tenantIn('https://login.microsoftonline.com/9C1B/v2.0', tenants)).toBeNull();
    expect(tenantIn('https://login.microsoftonline.com/ffff/v2.0', tenants)).toBeNull();
  });

  it.each([
    ...['https://login.microsoftonline.com/a/b/v2.0', 'https://login.microsoftonline.com//v2.0'],
    ...['https://login.microsoftonline.com/../v2.0', 'https://login.microsoftonline.com/v2.0', ENTRA],
    ...['https://login.microsoftonline.com/a/v2.0/', 'https://login.microsoftonline.com/a/v2.0#/v2.0'],
    ...['https://login.microsoftonline.com.evil/a/v2.0', 'http://login.microsoftonline.com/a/v2.0'],
    ...['https://login.microsoftonline.com/a?/v2.0', 'https://login.microsoftonline.com/%61%2f/v2.0', ''],
  ])('is none in %s', issuer => {
    expect(tenantIn(issuer, tenantsOf(ENTRA))).toBeNull();
  });

  it.each(['https://evil.example/.id.example.com:8443/oauth', 'https://a.b.id.example.com:8443/oauth'])(
    'is a whole label: none in %s',
    issuer => {
      expect(tenantIn(issuer, tenantsOf(IN_HOST))).toBeNull();
    },
  );
});

describe('what a provider says of its own issuer', () => {
  const one = 'https://login.microsoftonline.com/3f2a/v2.0';
  it.each([
    [one, true],
    ['https://login.microsoftonline.com/{tenantid}/v2.0', true],
    ['https://login.microsoftonline.com/9c1b/v2.0', false],
    ['https://login.microsoftonline.com/{a}{b}/v2.0', false],
    ['https://login.microsoftonline.com/{tenantid}/', false],
    ['https://evil.example/{tenantid}/v2.0', false],
    ['{tenantid}', false],
    ['', false],
  ])('%s is about the tenant 3f2a: %s', (text, isAbout) => {
    expect(namesTenant(text, one, tenantsOf(ENTRA))).toBe(isAbout);
  });

  it.each([
    ['https://login.microsoftonline.com/{tenantid}/v2.0', true],
    ['https://login.microsoftonline.com/3f2a/v2.0', true],
    ['https://login.microsoftonline.com/ffff/v2.0', false],
    ['https://sts.windows.net/{tenantid}/', false],
    ['https://login.microsoftonline.com/x/v2.0', false],
  ])('%s is about the accepted tenants: %s', (text, isAbout) => {
    expect(namesTenants(text, tenantsOf(ENTRA, ['3f2a']))).toBe(isAbout);
  });
});

// Templates from pieces that could confuse a parser of addresses, and issuers that somebody made from them.
const PIECES = [
  ...[
    'https://',
    'http://',
    'id.example',
    'evil.example',
    '/',
    '//',
    '.',
    '..',
    ':8443',
    '@',
    '?',
    '#',
    '\\',
  ],
  ...['{tid}', '{', '}', 'a', 'v2.0', '%2f', '%2e', 'a@', ' ', 'ä', '\n', 'com', 'xn--e1a'],
];
const text = fc.array(fc.constantFrom(...PIECES), { maxLength: 9 }).map(pieces => pieces.join(''));
const template = fc.oneof(
  text,
  fc.constantFrom(ENTRA, IN_HOST, 'https://id.example/{tid}', 'https://a.{tid}.id.example/x/y'),
);

test('no template lets a foreign issuer count: what counts differs from it in one segment or label alone', () => {
  let counted = 0;
  fc.assert(
    fc.property(template, text, text, (written, inserted, appended) => {
      const read = readTenants(written);
      if (read === null || typeof read === 'string') return;
      const tenants = { ...read, values: null };
      const own = new URL(issuerOfTenant(tenants, 'tenant'));
      for (const issuer of [
        inserted,
        issuerOfTenant(tenants, inserted),
        issuerOfTenant(tenants, inserted) + appended,
        appended + issuerOfTenant(tenants, 'a'),
        issuerOfTenant(tenants, `${inserted}.${appended}`),
      ]) {
        const value = tenantIn(issuer, tenants);
        if (value === null) continue;
        counted += 1;
        expect(issuerOfTenant(tenants, value)).toBe(issuer);
        const found = new URL(issuer);
        const parts = ({ protocol, username, password, port, search, hash }: URL) => [
          ...[protocol, username, password, port, search, hash],
        ];
        expect(parts(found)).toEqual(parts(own));
        const changed = (one: string, other: string, mark: string) => {
          const [a, b] = [one.split(mark), other.split(mark)];
          expect(a.length).toBe(b.length);
          return a.filter((each, index) => each !== b[index]).length;
        };
        const labels = changed(found.hostname, own.hostname, '.');
        const segments = changed(found.pathname, own.pathname, '/');
        expect(labels + segments).toBeLessThanOrEqual(1);
        // The domain itself stays: what changes is never one of its last two labels.
        expect(found.hostname.split('.').slice(-2)).toEqual(own.hostname.split('.').slice(-2));
      }
    }),
    played(20_000),
  );
  expect(counted).toBeGreaterThan(100);
});
