import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import type { Snapshot } from '../../../../src/config/index.ts';
import { limitsSchema } from '../../../../src/config/limits/index.ts';
import { gatewaySchema } from '../../../../src/config/settings/index.ts';
import { EACH, secretPaths } from '../../../../src/config/values/index.ts';
import { diagnosticsOf, loadFiles, NEEDED } from '../../../support/config-text.ts';

type Shown = Readonly<Record<'gateway' | 'limits', Readonly<Record<string, unknown>>>>;

async function load(
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
): Promise<Snapshot> {
  const result = await loadFiles(files, env);
  if (!result.ok) throw new Error(diagnosticsOf(result).join('\n'));
  return result.snapshot;
}

const shownOf = async ({ outline }: Snapshot) => (await outline.effective.read()) as Shown;

const PROVIDER = {
  issuer: 'https://id.example.com',
  client_id: 'gateway',
  redirect_uri: 'https://app.example.com/cb',
};

const UPSTREAMS = {
  upstreams: { api: { url: 'http://api:3000' } },
  routes: [{ path: '/**', upstream: 'api', authentication: 'none' }],
};

/** What the maps that hold secrets need besides them, by their keys. */
const BESIDE_SECRETS: Readonly<Record<string, object>> = {
  identity_provider: { identity_provider: PROVIDER, access_tokens: { audience: 'any' } },
  identity_providers: { identity_providers: [{ ...PROVIDER, name: 'main', audience: 'any' }] },
  store: { store: { redis: 'redis://weir@127.0.0.1' } },
};

function at(value: unknown, steps: readonly string[]): unknown {
  return steps.reduce<unknown>((part, step) => (part as Record<string, unknown>)[step], value);
}

describe('the effective configuration', () => {
  test('has every default, in the words of the files', async () => {
    const { gateway, limits } = await shownOf(await load({ 'gateway.yaml': NEEDED }));
    expect(gateway).toMatchObject({
      listen: { http: '[::]:8080', admin: '127.0.0.1:9090' },
      upstreams: { api: { url: 'http://api:3000', timeouts: { first_byte: '60s' }, max_head: '32KiB' } },
      store: 'memory',
      cors: 'off',
      limits: 'none',
    });
    expect(limits).toMatchObject({
      global: { user: '50/1s', shadow: false },
      ignored_refusals: { limit: '1000/10m', restrict_for: '10m', addresses: false },
      buckets: {},
    });
  });

  test('means the same as the files that it came from', async () => {
    const files = {
      'gateway.yaml': await readFile('config/gateway.yaml', 'utf8'),
      'limits.yaml': await readFile('config/limits.yaml', 'utf8'),
    };
    const { gateway, limits } = await shownOf(await load(files, { OIDC_CLIENT_SECRET: 'topsecret' }));
    const hidden = files['gateway.yaml']
      .replace(/(client_secret: ).*/, '$1"***"')
      .replace('//weir@', '//***@');
    expect(gatewaySchema.parse(gateway)).toEqual(gatewaySchema.parse(parse(hidden)));
    expect(limitsSchema.parse(limits)).toEqual(limitsSchema.parse(parse(files['limits.yaml'])));
  });

  test.each(secretPaths(gatewaySchema).map(path => path.map(String)))(
    'shows no secret under %s %s %s',
    async (...path) => {
      const marker = `marker-${crypto.randomUUID()}`;
      const holder = BESIDE_SECRETS[path[0] ?? ''];
      expect(holder, 'a secret in a place that this test does not know').toBeDefined();
      const steps = path.filter(step => typeof step === 'string').map(step => (step === EACH ? '0' : step));
      const config: unknown = structuredClone({ ...UPSTREAMS, ...holder });
      Object.assign(at(config, steps.slice(0, -1)) as object, { [steps.at(-1) ?? '']: `\${SECRET}` });
      const shown = await shownOf(await load({ 'gateway.yaml': stringify(config) }, { SECRET: marker }));
      expect(at(shown.gateway, steps)).toBe('***');
      expect(JSON.stringify(shown)).not.toContain(marker);
    },
  );

  test('shows variables by their names, and no credentials in addresses', async () => {
    const provider = {
      ...PROVIDER,
      client_authentication: 'none',
      discovery_url: 'https://id.example.com/d?key=marker',
    };
    const text = stringify({
      identity_provider: provider,
      access_tokens: { audience: `\${AUDIENCE}` },
      caps: { requests: `\${REQUESTS}` },
      ...UPSTREAMS,
      store: { redis: 'redis://weir@127.0.0.1' },
      limits: 'limits.yaml',
    });
    const limits = `global: { user: "\${QUOTA}" }\n`;
    const env = { AUDIENCE: 'marker', REQUESTS: '77', QUOTA: '7/1s' };
    const shown = await shownOf(await load({ 'gateway.yaml': text, 'limits.yaml': limits }, env));
    expect(shown).toMatchObject({
      gateway: {
        identity_provider: { discovery_url: 'https://id.example.com/d?***' },
        access_tokens: { audience: `\${AUDIENCE}` },
        caps: { requests: `\${REQUESTS}` },
        store: { redis: 'redis://***@127.0.0.1' },
      },
      limits: { global: { user: `\${QUOTA}`, bot: '50/1s' } },
    });
    expect(JSON.stringify(shown)).not.toContain('marker');
  });
});
