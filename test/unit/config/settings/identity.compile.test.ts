import { describe, expect, it } from 'vitest';
import type { IdentityModel, ProviderModel } from '../../../../src/config/index.ts';
import { diagnosticsOf, loadFiles } from '../../../support/config-text.ts';

const REST = `upstreams: { api: { url: "http://api:3000" } }
routes: [{ path: /**, upstream: api }]
`;
const PROVIDER =
  'issuer: "https://id", client_id: gateway, client_authentication: none, redirect_uri: "https://app/cb"';

async function identityOf(provider: string, tokens: string, limits = ''): Promise<IdentityModel | null> {
  const gateway = `identity_provider: { ${PROVIDER}${provider} }\naccess_tokens: { ${tokens} }\n${REST}`;
  const files = limits === '' ? {} : { 'limits.yaml': limits };
  const named = limits === '' ? gateway : `${gateway}limits: limits.yaml\n`;
  const result = await loadFiles({ 'gateway.yaml': named, ...files });
  expect(diagnosticsOf(result)).toEqual([]);
  return result.ok ? result.snapshot.identity : null;
}

async function providerOf(...parameters: Parameters<typeof identityOf>): Promise<ProviderModel | undefined> {
  return (await identityOf(...parameters))?.providers[0];
}

describe('the identity part of a snapshot', () => {
  it('has every default in the reference', async () => {
    expect(await providerOf('', 'audience: api')).toMatchObject({
      name: null,
      label: null,
      provider: {
        issuer: 'https://id',
        discoveryUrl: null,
        endpoints: { authorization: null, token: null, keySet: null },
        allowHttp: false,
        timeoutMs: 5_000,
        tls: { ca: null, certificate: null, key: null },
      },
      signIn: {
        clientId: 'gateway',
        clientAuthentication: { kind: 'none' },
        redirectUri: 'https://app/cb',
        redirectAllowList: null,
        scope: 'openid',
        authorizationParameters: { fixed: {}, allow: [] },
        maxInFlight: 100,
      },
      accessTokens: {
        issuer: 'https://id',
        audience: ['api'],
        audienceClaim: 'aud',
        clientId: 'gateway',
        principal: ['azp', 'sub'],
        bots: null,
        identityHeaders: [],
        keptClaims: [],
        requirements: [],
        roleClaims: [],
        leewayMs: 30_000,
        maxLifetimeMs: null,
      },
      keySet: { refreshMs: 600_000, cooldownMs: 5_000, fetchTimeoutMs: 5_000 },
      cache: { maxTokens: 50_000 },
      notBeforeS: 0,
    });
    expect(await identityOf('', 'audience: api')).toMatchObject({
      maxTokenLength: 16_384,
      certificateField: null,
      schemes: ['bearer'],
      failedVerifications: { limit: 1_000, periodMs: 60_000, checksPerSecond: 10 },
    });
  });

  it('has what the file says about the provider', async () => {
    const keys = [
      'discovery_url: "https://id.svc/d"',
      'endpoints: { authorization: "https://id/a", token: "https://id/t", key_set: "https://id/k" }',
      'timeout: 2s',
      'redirect_uris: ["https://app/two", "app:/cb"]',
      'scope: openid profile',
      'max_in_flight: 7',
    ];
    expect(await providerOf(`, ${keys.join(', ')}`, 'audience: api')).toMatchObject({
      provider: {
        discoveryUrl: 'https://id.svc/d',
        endpoints: { authorization: 'https://id/a', token: 'https://id/t', keySet: 'https://id/k' },
        timeoutMs: 2_000,
      },
      signIn: { redirectAllowList: ['https://app/two', 'app:/cb'], scope: 'openid profile', maxInFlight: 7 },
      keySet: { fetchTimeoutMs: 2_000 },
    });
  });

  it('has what the file says about tokens', async () => {
    const tokens = [
      'audience: any',
      'principal: [sub]',
      'bots: { claim: is_bot, value: true, principal: [sub, azp] }',
      'identity_headers: { X-B: sub, X-A: azp }',
      'schemes: [Bot, BEARER]',
      'leeway: 1m',
      'not_before: 2026-01-31T12:00:00Z',
      'key_set: { refresh: 1m, cooldown: 1s }',
      'cache: { tokens: 5 }',
    ];
    expect((await identityOf('', tokens.join(', ')))?.schemes).toEqual(['bot', 'bearer']);
    expect(await providerOf('', tokens.join(', '))).toMatchObject({
      accessTokens: {
        audience: null,
        principal: ['sub'],
        bots: { claim: 'is_bot', value: 'true', principal: ['sub', 'azp'] },
        identityHeaders: [
          { name: 'X-B', claim: 'sub' },
          { name: 'X-A', claim: 'azp' },
        ],
        keptClaims: [],
        requirements: [],
        roleClaims: [],
        leewayMs: 60_000,
        maxLifetimeMs: null,
      },
      notBeforeS: 1_769_860_800,
      keySet: { refreshMs: 60_000, cooldownMs: 1_000 },
      cache: { maxTokens: 5 },
    });
  });

  it('knows bots by their client alone, unless the file says otherwise', async () => {
    const provider = await providerOf('', 'audience: api, bots: { claim: client_id }');
    expect(provider?.accessTokens.bots).toEqual({ claim: 'client_id', value: null, principal: ['azp'] });
  });

  it('has the budget of limits.yaml, or none', async () => {
    const budgetOf = async (text: string) =>
      (await identityOf('', 'audience: api', `failed_verifications: ${text}\n`))?.failedVerifications;
    expect(await budgetOf('20/10s')).toMatchObject({ limit: 20, periodMs: 10_000 });
    expect(await budgetOf('off')).toBeNull();
  });

  it('is null without a provider', async () => {
    const routes = REST.replace('upstream: api }', 'upstream: api, authentication: none }');
    expect(await loadFiles({ 'gateway.yaml': routes })).toMatchObject({ snapshot: { identity: null } });
  });
});
