import { describe, expect, it } from 'vitest';
import { diagnosticsIn, diagnosticsOf, loadFiles } from '../../../support/config-text.ts';

const REST = `upstreams: { api: { url: "http://api:3000" } }
routes: [{ path: /**, upstream: api }]
`;
const OLD = '{ name: old, issuer: "https://id/old", audience: api }';
const SIGNS_IN =
  '{ name: main, issuer: "https://id/main", audience: api, client_id: gateway, client_authentication: none, redirect_uri: "https://app" }';

const diagnosticsWith = (...entries: readonly string[]) =>
  diagnosticsIn(`identity_providers:\n${entries.map(entry => `- ${entry}\n`).join('')}${REST}`);

describe('a list of identity providers', () => {
  it('may have one that signs users in, and others whose tokens are only checked', async () => {
    expect(await diagnosticsWith(SIGNS_IN, OLD)).toEqual([]);
  });

  it('may sign users in nowhere', async () => {
    expect(await diagnosticsWith(OLD)).toEqual([]);
  });

  it('takes the place of identity_provider', async () => {
    const one =
      'identity_provider: { issuer: "https://id", client_id: g, client_authentication: none, redirect_uri: "https://app" }\n';
    expect(
      await diagnosticsIn(`${one}identity_providers: [${OLD}]\naccess_tokens: { leeway: 1s }\n${REST}`),
    ).toEqual([
      '2:1: "identity_provider" and "identity_providers" cannot be combined: move the former into this list as its first entry, with a name and with audience, principal and bots of access_tokens',
    ]);
  });

  it('is not empty, and has at most 20 entries', async () => {
    expect(await diagnosticsIn(`identity_providers: []\n${REST}`)).toEqual([
      '1:21: identity_providers: an empty list has no provider: leave it out',
    ]);
    const entries = Array.from(
      { length: 21 },
      (_, i) => `{ name: n${i}, issuer: "https://id/${i}", audience: api }`,
    );
    expect(await diagnosticsWith(...entries)).toEqual([
      '2:1: identity_providers: at most 20 providers are possible',
    ]);
  });

  it('has each name and each issuer once: a token is judged by one entry', async () => {
    expect(await diagnosticsWith(OLD, OLD)).toEqual([
      '3:11: identity_providers[1].name: the provider in line 2 has this name already',
      '3:24: identity_providers[1].issuer: the provider in line 2 has this issuer already',
    ]);
    expect(await diagnosticsWith(OLD, '{ name: slash, issuer: "https://id/old/", audience: api }')).toEqual(
      [],
    );
  });

  it('says at which provider ID tokens are accepted', async () => {
    const dex = '{ name: dex, issuer: "https://dex", audience: api, token_kind: access_or_id }';
    expect(await diagnosticsWith(OLD, dex.replace('api', 'any'))).toEqual([
      '3:66: identity_providers[1].token_kind: would accept the ID tokens of every client: name the audience, since nothing else distinguishes them',
    ]);
    expect(await diagnosticsWith(OLD, dex)).toEqual([]);
  });

  it('has one provider where users sign in', async () => {
    const other = SIGNS_IN.replace('name: main', 'name: other').replace('id/main', 'id/other');
    expect(await diagnosticsWith(SIGNS_IN, other)).toEqual([
      '3:110: identity_providers[1]: users already sign in at the provider in line 2: only one provider may have "redirect_uri"',
    ]);
  });

  it('says for each entry what its tokens must be like, which access_tokens then does not', async () => {
    const rules = ['audience: api', 'principal: [sub]', 'bots: none', 'not_before: none'];
    for (const rule of rules) {
      const [key] = rule.split(':');
      const text = `identity_providers: [${OLD}]\naccess_tokens: { ${rule} }\n${REST}`;
      expect(await diagnosticsIn(text)).toEqual([
        `2:18: access_tokens: "${key}" belongs to each provider: move it to the entries of identity_providers`,
      ]);
    }
    expect(
      await diagnosticsIn(`identity_providers: [${OLD}]\naccess_tokens: { leeway: 1s }\n${REST}`),
    ).toEqual([]);
    expect(await diagnosticsWith('{ name: old, issuer: "https://id/old" }')).toEqual([
      '2:3: identity_providers[0]: missing key "audience": expected the name of this API in the aud of its tokens, in quotes if it is a number, or any',
    ]);
  });

  it('finds the errors of every entry, and never shows a secret', async () => {
    const secret =
      '{ name: a, issuer: "https://id/a", audience: api, client_id: g, redirect_uri: "https://app", client_secret: hunter2 }';
    expect(await diagnosticsWith(OLD.replace('https', 'http'), secret)).toEqual([
      '2:24: identity_providers[0].issuer: is plain http and not on loopback: use https, or set allow_http: true',
      expect.stringContaining(
        '3:111: identity_providers[1].client_secret: this file must not contain secrets',
      ),
    ]);
  });
});

describe('sign_in', () => {
  it('needs an entry where users sign in', async () => {
    const text = (entry: string) => `identity_providers: [${entry}]\nsign_in: { refresh: /r }\n${REST}`;
    expect(await diagnosticsIn(text(SIGNS_IN))).toEqual([]);
    expect(await diagnosticsIn(text(OLD))).toEqual([
      '2:1: "sign_in" needs "redirect_uri" in an entry of identity_providers: without it nobody signs in through the gateway',
    ]);
  });
});

describe('an entry without redirect_uri', () => {
  it.each([
    ['redirect_uris: any', '"redirect_uris" has no effect without "redirect_uri"'],
    ['scope: openid', '"scope" has no effect without "redirect_uri"'],
    ['max_in_flight: 7', '"max_in_flight" has no effect without "client_id"'],
  ])('has no key of a sign-in or a client: %s', async (key, why) => {
    expect(await diagnosticsWith(OLD.replace('{', `{ ${key},`))).toEqual([
      `2:5: identity_providers[0]: ${why}`,
    ]);
  });

  it('has no address of a sign-in', async () => {
    const entry = OLD.replace('{', '{ endpoints: { token: "https://id/token" },');
    expect(await diagnosticsWith(entry)).toEqual([
      '2:18: identity_providers[0].endpoints: "token" has no effect without "redirect_uri"',
    ]);
  });
});

describe('an entry with redirect_uri', () => {
  it('needs a client', async () => {
    expect(await diagnosticsWith(OLD.replace('{', '{ redirect_uri: "https://app",'))).toEqual([
      '2:3: identity_providers[0]: missing key "client_id", the id of the gateway at the provider: "redirect_uri" needs it',
    ]);
  });
});

describe('the name of a provider', () => {
  it.each(['"a b"', '.a', '""', '7'])('is short and plain: %s', async name => {
    expect((await diagnosticsWith(OLD.replace('name: old', `name: ${name}`))).join()).toContain(
      'identity_providers[0].name: expected a name of 1 to 63 letters, digits, ".", "_" or "-", such as main',
    );
  });

  it('is not that of tokens of no provider', async () => {
    expect(await diagnosticsWith(OLD.replace('name: old', 'name: none'))).toEqual([
      '2:11: identity_providers[0].name: no provider may be named none: metrics use that word',
    ]);
  });
});

describe('a caller in limits.yaml, where there are several providers', () => {
  const BOTS =
    '{ name: bots, issuer: "https://id/bots", audience: api, principal: [sub], bots: { claim: client_id } }';

  async function withCaller(caller: string, ...entries: readonly string[]): Promise<string[]> {
    const gateway = `identity_providers:\n${entries.map(entry => `- ${entry}\n`).join('')}${REST}limits: limits.yaml\n`;
    const files = { 'gateway.yaml': gateway, 'limits.yaml': `never_restrict: [${caller}]\n` };
    return diagnosticsOf(await loadFiles(files)).map(text => text.replace('limits.yaml:1:', ''));
  }

  it('may name its provider, whose claims then identify it', async () => {
    for (const caller of [
      '{ provider: old, client: web, subject: a }',
      '{ provider: bots, subject: a }',
      '{ subject: a }',
    ])
      expect(await withCaller(caller, OLD, BOTS), caller).toEqual([]);
    expect(await withCaller('{ provider: old, subject: a }', OLD, BOTS)).toEqual([
      '18: never_restrict[0]: a caller is listed by the claims that identify it in gateway.yaml: { client, subject } for a user',
    ]);
  });

  it('names a provider that exists', async () => {
    expect(await withCaller('{ provider: bot, subject: a }', OLD, BOTS)).toEqual([
      '30: never_restrict[0].provider: no provider in gateway.yaml has this name, did you mean "bots"?',
    ]);
  });

  it('cannot be identified by a claim of that name', async () => {
    const entry = OLD.replace('{', '{ principal: [sub, provider],');
    expect(await withCaller('{ subject: a }', entry, BOTS)).toEqual([
      'gateway.yaml:2:22: identity_providers[0].principal[1]: in limits.yaml "provider" names the provider: no caller can be identified by this claim',
    ]);
  });
});
