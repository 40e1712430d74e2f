import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { ForwardingRules, foldName, RequestHead } from '../../../../src/wire/http/index.ts';
import {
  CALLER_CLAIMS,
  INTERNAL,
  namesOf,
  ORIGIN_CLAIMS,
  OVERRIDES,
} from '../../../../src/wire/http/reserved-fields.ts';

const claims = [...namesOf(ORIGIN_CLAIMS), ...namesOf(CALLER_CLAIMS)];
const internal = namesOf(INTERNAL);
const overrides = namesOf(OVERRIDES);
const all = [...claims, ...internal, ...overrides];

/** What services get behind these products, as their documentation names it. */
const TOLD: Readonly<Record<string, readonly string[]>> = {
  Kong: [
    ...['X-Consumer-ID', 'X-Consumer-Custom-ID', 'X-Consumer-Username'],
    ...['X-Consumer-Groups', 'X-Anonymous-Consumer'],
  ],
  'plugins of Kong': [
    ...['X-Credential-Identifier', 'X-Authenticated-Userid'],
    ...['X-Authenticated-Scope', 'X-Authenticated-Groups'],
  ],
  APISIX: ['X-Userinfo', 'X-ID-Token', 'X-Consumer-Username', 'X-Credential-Identifier'],
  Google: [
    ...['X-Goog-IAP-JWT-Assertion', 'X-Goog-Authenticated-User-Email'],
    ...['X-Apigateway-Api-Userinfo', 'X-Endpoint-API-UserInfo'],
  ],
  Cloudflare: [
    ...['Cf-Access-Jwt-Assertion', 'Cf-Access-Authenticated-User-Email'],
    ...['Cf-Client-Cert-Sha256', 'CF-Worker'],
  ],
  AWS: [
    ...['x-amzn-oidc-data', 'x-amzn-oidc-identity', 'x-amzn-mtls-clientcert'],
    ...['x-amzn-lattice-identity', 'x-amzn-ava-user-context'],
  ],
  Azure: ['X-MS-CLIENT-PRINCIPAL', 'X-MS-CLIENT-PRINCIPAL-NAME', 'X-MS-TOKEN-AAD-ID-TOKEN', 'Disguised-Host'],
  Vouch: ['X-Vouch-User', 'X-Vouch-IdP-Claims-Email', 'X-Vouch-IdP-AccessToken'],
  Traefik: ['X-Forwarded-User', 'X-Forwarded-Tls-Client-Cert', 'X-Forwarded-Tls-Client-Cert-Info'],
  'ingress-nginx': ['ssl-client-cert', 'ssl-client-subject-dn', 'X-SSL-Client-Cert', 'X-SSL-Issuer'],
  Envoy: ['X-Forwarded-Client-Cert', 'X-Envoy-Internal'],
  Kubernetes: [
    ...['Impersonate-User', 'Impersonate-Group', 'Impersonate-Uid'],
    ...['Impersonate-Extra-Scopes', 'X-Remote-Extra-A'],
  ],
  'oauth2-proxy': [
    ...['X-Auth-Request-User', 'X-Auth-Request-Groups', 'X-Forwarded-Email', 'X-Forwarded-Access-Token'],
  ],
  Authelia: ['Remote-User', 'Remote-Groups', 'Remote-Name', 'Remote-Email'],
  authentik: ['X-authentik-username', 'X-authentik-jwt'],
  Pomerium: ['X-Pomerium-Jwt-Assertion', 'X-Pomerium-Claim-Email'],
  Tailscale: ['Tailscale-User-Login', 'Tailscale-App-Capabilities'],
  Teleport: ['Teleport-Jwt-Assertion'],
  Ory: ['X-Kratos-Authenticated-Identity-Id'],
  SiteMinder: ['SM_USER', 'SM_USERDN', 'SM-USER', 'SM_UNIVERSALID'],
  WebSEAL: ['iv-user', 'iv-groups', 'iv-creds', 'iv-remote-address', 'iv_server_name'],
  Shibboleth: ['Shib-Session-ID', 'Shib-Identity-Provider', 'REMOTE_USER'],
  mod_auth_openidc: ['OIDC_CLAIM_sub', 'OIDC_access_token', 'OIDC-Claim-Email'],
  WSO2: ['X-JWT-Assertion'],
  Grafana: ['X-WEBAUTH-USER', 'X-Grafana-User', 'X-Grafana-Id'],
  meshes: ['X-Istio-Attributes', 'l5d-client-id', 'dapr-caller-app-id', 'X-SPIFFE-ID'],
  'Next.js': [
    ...['X-Middleware-Subrequest', 'X-Middleware-Rewrite'],
    ...['X-Invoke-Path', 'X-Matched-Path', 'X-Now-Route-Matches'],
  ],
};

/** A field that an entry is for. */
const sample = (name: string) => name.replace(/\*$/, 'Any');

/** The names of these fields that go to the service. */
function passing(
  names: readonly string[],
  isTrusted = false,
  rules = new ForwardingRules(),
): readonly string[] {
  const head = new RequestHead(
    names.flatMap(name => [name, 'x']),
    rules,
    isTrusted,
    [],
  );
  return head.kept.filter((_, index) => index % 2 === 0);
}

/** The names that stand in the table of 6.4.4. */
async function passingByContract(): Promise<readonly string[]> {
  const contract = await readFile('docs/contract.md', 'utf8');
  const [, table = ''] = contract.split('| Fields that pass | Why |\n|---|---|\n');
  const rows = (table.split('\n\n')[0] ?? '').split('\n');
  return rows.flatMap(row =>
    [...(row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  );
}

test('each name is in one list only, once', () => {
  expect(new Set(all.map(foldName)).size).toBe(all.length);
});

test.each(Object.entries(TOLD))('what %s tells services does not come from clients', (_, names) => {
  expect(passing(names)).toEqual([]);
});

test.each([
  ['as they are', (name: string) => name],
  ['in lower case', (name: string) => name.toLowerCase()],
  ['with underscores', (name: string) => name.replaceAll('-', '_')],
  ['with hyphens', foldName],
  ['with dots and tildes', (name: string) => name.replace(/[^a-z0-9]/i, '.').replaceAll('-', '~')],
])('no client sends any of them, written %s', (_, spell) => {
  expect(passing(all.map(sample).map(spell))).toEqual([]);
});

test('a trusted proxy sends claims as they are spelt, and nothing of the other lists', () => {
  const read = ['X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host'];
  const sent = claims.map(sample).filter(name => !read.includes(name));
  expect(passing([...sent, ...internal.map(sample), ...overrides], true)).toEqual(sent);
});

test('a trusted proxy writes further words of a family as the family is written', () => {
  expect(
    passing(
      [
        'OIDC_CLAIM_given_name',
        'SM_USERDN',
        'Shib-Session-ID',
        'OIDC-CLAIM-sub',
        'SM-User',
        'Shib_Session_ID',
      ],
      true,
    ),
  ).toEqual(['OIDC_CLAIM_given_name', 'SM_USERDN', 'Shib-Session-ID']);
});

describe('keep', () => {
  test('brings back each of them, and no override', () => {
    const keep = [...claims, ...internal, ...overrides];
    const kept = [...claims, ...internal].map(sample);
    expect(passing(all.map(sample), false, new ForwardingRules({ keep }))).toEqual(kept);
  });

  test('brings back one name of a family, or a family within it', () => {
    const rules = new ForwardingRules({ keep: ['x_consumer_id', 'X-Consumer-Custom-*', 'X-Invoke-Path'] });
    const names = ['X-Consumer-ID', 'X-Consumer-Custom-ID', 'X-Invoke-Path'];
    expect(passing([...names, 'X-Consumer-Username', 'X-Invoke-Query'], false, rules)).toEqual(names);
  });

  test('brings back all that a beginning is for: names of their own and families, however long', () => {
    const rules = new ForwardingRules({ keep: ['X-Forwarded-*', 'X-Goog*', 'x.amzn.*'] });
    const names = ['X-Forwarded-User', 'X-Forwarded-Port', 'X-Goog-IAP-JWT-Assertion', 'X-Amzn-OIDC-Data'];
    expect(passing([...names, 'X-Forwarded-For', 'X-Apigateway-Api-Userinfo'], false, rules)).toEqual(names);
  });

  test('leaves to trusted proxies what is removed within it', () => {
    const rules = new ForwardingRules({
      keep: ['X-Consumer-*'],
      remove: ['X-Consumer-ID', 'X-Consumer-Plan-*'],
    });
    const names = ['X-Consumer-Username', 'X-Consumer-ID', 'X-Consumer-Plan-Name'];
    expect(passing(names, false, rules)).toEqual(['X-Consumer-Username']);
    expect(passing(names, true, rules)).toEqual(names);
  });

  test('does not touch what the gateway writes', () => {
    const rules = new ForwardingRules({ keep: ['X-Consumer-*'], own: ['X-Consumer-ID'] });
    expect(passing(['x_consumer_id', 'X-Consumer-Username'], false, rules)).toEqual(['X-Consumer-Username']);
  });
});

test('remove says how a trusted proxy spells a family', () => {
  const rules = new ForwardingRules({ remove: ['OIDC-Claim-*'] });
  expect(passing(['OIDC-Claim-Sub', 'OIDC_CLAIM_sub'], true, rules)).toEqual(['OIDC-Claim-Sub']);
  expect(passing(['OIDC-Claim-Sub', 'OIDC_CLAIM_sub'], false, rules)).toEqual([]);
});

test('what the contract says passes, passes in every spelling', async () => {
  const names = await passingByContract();
  expect(names).toContain('X-Hasura-Role');
  for (const spelt of [
    names,
    names.map(name => name.toLowerCase()),
    names.map(name => name.replaceAll('-', '_')),
  ])
    expect(passing(spelt)).toEqual(spelt);
});
