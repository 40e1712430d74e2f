import { GATEWAY_CLIENT } from '../../src/cli/demo/provider/demo-provider.ts';
import type { Target } from './fillings.ts';

/** Clients say by X-Forwarded-For where they come from. */
export const TRUSTING = { trusted_proxies: ['127.0.0.1/32'] };

/** A gateway with a provider that signs users in. */
export function withProvider({ issuer, services }: Target): Readonly<Record<string, unknown>> {
  const url = `http://127.0.0.1:${services.http1Port}`;
  return {
    ...TRUSTING,
    identity_provider: {
      issuer,
      client_id: GATEWAY_CLIENT.id,
      client_secret_file: 'client-secret',
      redirect_uri: 'https://app.example.com/callback',
      notices: { back_channel_logout: '/idp/logout' },
      max_in_flight: 1_000,
    },
    access_tokens: { audience: 'api', max_lifetime: '1h' },
    upstreams: { api: { url } },
    routes: [
      { path: '/small', upstream: 'api', authentication: 'none' },
      { path: '/small/mine', upstream: 'api' },
      { path: '/small/asked', upstream: 'api', introspection: { cache: '10m' } },
    ],
  };
}
