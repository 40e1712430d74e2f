import { describe, expect, it } from 'vitest';
import { jsonSchemaOf, type Snapshot } from '../../../../src/config/index.ts';
import { explain } from '../../../../src/explain/index.ts';
import { changesInWords, diagnosticsIn, loadFiles } from '../../../support/config-text.ts';

const GATEWAY = `identity_provider: { issuer: "https://id", client_id: g, client_secret: "\${SECRET}", redirect_uri: "https://app" }
access_tokens: { audience: api, bots: { claim: client_id }, identity_headers: { X-User: sub } }
listen: { grpc: 127.0.0.1:8081 }
upstreams: { api: { url: "http://api:3000" }, calls: { url: "http://calls", protocol: grpc } }
routes:
`;

/** Every key of a route, written as something else than its default. */
const KEYS: readonly string[] = [
  'methods: [GET, POST]',
  'authentication: optional',
  'authentication: none',
  'token_from: [{ query: access_token }]',
  'token_from: [{ query: a, cookie: b }]',
  'token_from: []',
  'websocket: true, token_from: [{ subprotocol: bearer }, { cookie: api_token }]',
  'token_from: [{ subprotocol: bearer }]',
  'methods: [POST], token_from: [{ query: a }]',
  'authentication: none, token_from: [{ query: a }]',
  'accept: [token, api_key]',
  'accept: [api_key]',
  'close_at_expiry: true',
  'introspection: { cache: 30s }',
  'require: { scopes: [b, a], roles: [clerk, "shop:admin"], claims: { plan: [gold, 7] } }',
  'authentication: optional, require: { scopes: [a] }',
  'networks: { allow: [10.0.0.0/8] }',
  'networks: { deny: [192.0.2.7, "2001:db8::/32"] }',
  'strip_prefix: /a',
  'rewrite_location: true',
  'semicolons: pass',
  'encoded_slashes: pass',
  'empty_segments: merge',
  'empty_segments: pass',
  'trailing_slash: redirect',
  'webhook: true',
  'websocket: true',
  'websocket: true, timeouts: { websocket_idle: 1h }',
  'global_limit: exempt',
  'upstream_429: pass',
  'expect: pass',
  'rate_limit_headers: service',
  'rate_limit_headers: service, upstream_429: rewrite',
  'cors: false',
  'grpc_web: true',
  'grpc_web: true, cors: false',
  'max_body: 1MiB',
  'min_body_rate: off',
  'min_body_rate: 1KiB/s',
  'min_read_rate: off',
  'min_read_rate: 1KiB/s',
  'timeouts: { first_byte: 10s }',
  'timeouts: { idle: 10m }',
  'timeouts: { websocket_idle: 1h }',
  'request_headers: { set: { X-Plan: "{claim.plan} of {route}", X-Fixed: a }, remove: [X-Debug] }',
  'response_headers: { set: { X-Frame-Options: DENY }, remove: [Server] }',
];
const ALL =
  'methods: [GET, POST], authentication: optional, close_at_expiry: true, strip_prefix: /a, rewrite_location: true, semicolons: pass, webhook: true, websocket: true, global_limit: exempt, upstream_429: pass, cors: false, max_body: 1MiB, min_body_rate: off, min_read_rate: off, timeouts: { first_byte: 10s, idle: 10m, websocket_idle: 1h }';
const ENV = { SECRET: 'hunter2' };
const PATH = 'path: "/a/{id}", upstream: api';
const CALL = 'grpc: a.B/C, upstream: calls';

function withRoute(match: string, policies: string): string {
  const first = policies === '' ? match : `${match}, ${policies}`;
  const keys = policies.includes('api_key') ? 'api_keys: { file: keys.yaml }\n' : '';
  return `${keys}${GATEWAY}  - { ${first} }\n  - { ${match === CALL ? PATH : CALL} }\n`;
}

async function snapshotOf(match: string, policies: string): Promise<Snapshot | null> {
  const loaded = await loadFiles({ 'gateway.yaml': withRoute(match, policies), 'keys.yaml': '[]' }, ENV);
  return loaded.ok ? loaded.snapshot : null;
}

function rowsOf(snapshot: Snapshot, method: string, target: string): string[] {
  const caller = { as: null, address: null, principal: null };
  const { rows } = explain({ method, target, caller }, snapshot);
  return rows.map(([about, fact]) => `  ${about}: ${fact.replace(/[^\s(]*gateway\.yaml/g, 'gateway.yaml')}`);
}

async function effectiveRoute({ outline }: Snapshot): Promise<string> {
  const { gateway } = await outline.effective.read();
  const [route] = (gateway as { readonly routes: readonly unknown[] }).routes;
  return `effective: ${JSON.stringify(route)}`;
}

/** What is said about a route with each key: all of it without keys and with all of them, else what is new. */
async function told(match: string, method: string, target: string): Promise<string[]> {
  const plain = await snapshotOf(match, '');
  if (plain === null) throw new Error('the route without policies is invalid');
  const known = rowsOf(plain, method, target);
  const lines = [`## ${match}`, ...known, await effectiveRoute(plain)];
  for (const policies of [...KEYS, ALL]) {
    lines.push(`## ${policies}`);
    const snapshot = await snapshotOf(match, policies);
    if (snapshot === null) lines.push(...(await diagnosticsIn(withRoute(match, policies), ENV)));
    else {
      const rows = rowsOf(snapshot, method, target);
      lines.push(...(policies === ALL ? rows : rows.filter(row => !known.includes(row))));
      lines.push(...changesInWords(snapshot.outline, plain.outline));
      lines.push(...changesInWords(plain.outline, snapshot.outline));
      if (policies === ALL) lines.push(await effectiveRoute(snapshot));
    }
  }
  return lines;
}

describe('the keys of a route', () => {
  it('are described and compared in the words of route-policies.golden.txt', async () => {
    const schema = JSON.stringify(jsonSchemaOf('gateway').properties?.routes, null, 1);
    const lines = [schema, ...(await told(PATH, 'GET', '/a/1')), ...(await told(CALL, 'GRPC', '/a.B/C')), ''];
    // `npx vitest run route-policies -u` writes the file.
    await expect(lines.join('\n')).toMatchFileSnapshot('./route-policies.golden.txt');
  });
});
