import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../../../src/core/index.ts';
import { clientOf } from '../../../../../src/edge/admin/api/client.ts';
import { loadText } from '../../../../support/config-text.ts';

const IDENTITY = `identity_provider: { issuer: "https://id.example" }
access_tokens: { audience: api, principal: [azp, sub, tenant] }
upstreams: { api: { url: "http://api" } }
routes: [{ path: /**, upstream: api }]
`;

async function messageFor(who: Parameters<typeof clientOf>[0]): Promise<string | null> {
  const loaded = await loadText(IDENTITY);
  if (!loaded.ok) throw new Error('the configuration has errors');
  const found = clientOf(who, loaded.snapshot);
  return found instanceof GatewayError ? found.message : null;
}

describe('the client that a request is about', () => {
  it('is told by parameters, which messages name', async () => {
    expect(await messageFor({ client: 'web' })).toBe(
      'Give address, or exactly these for a user: client, subject, claims[tenant].',
    );
    expect(await messageFor({ client: 'web', subject: 'alice', claims: { tenant: 't' } })).toBeNull();
  });

  it('is one address, not a network', async () => {
    expect(await messageFor({ address: '10.0.0.0/8' })).toBe(
      'address: this is a network, expected one IP address. "blocked" and "never_restrict" in limits.yaml take networks.',
    );
    for (const address of ['10.0.0', 'localhost', '10.0.0.1:80', '300.0.0.0/8'])
      expect(await messageFor({ address })).toBe('address: expected an IP address such as 192.0.2.7.');
  });
});
