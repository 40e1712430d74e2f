import { onTestFinished } from 'vitest';
import {
  type IdentityGateway,
  type IdentitySettings,
  startIdentityGateway,
} from '../support/identity-gateway.ts';
import { startRedis } from '../support/redis.ts';
import { redisDecides } from '../support/redis-gateway.ts';
import { REDIRECT_URI, type TestRealm } from './realm.ts';

/** A gateway in front of this realm, in this process and ready, with the upstream behind it. The end of the test ends both. */
export async function gatewayOf(
  realm: TestRealm,
  settings: Partial<IdentitySettings> = {},
): Promise<IdentityGateway> {
  const started = await startIdentityGateway({
    issuer: realm.issuer,
    redirectUri: REDIRECT_URI,
    ...settings,
  });
  await started.gateway.ready();
  return started;
}

/** So many gateways that share a Redis of their own. */
export async function replicasOf(
  realm: TestRealm,
  count: number,
  settings: Partial<IdentitySettings> = {},
): Promise<readonly IdentityGateway[]> {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  // On a busy machine a response may take its time: here nothing may fall back on a gateway's own counters.
  const store = { redis: `redis://127.0.0.1:${redis.port}`, timeout: '1s' };
  const replicas: IdentityGateway[] = [];
  for (let i = 0; i < count; i++) {
    const replica = await gatewayOf(realm, { ...settings, config: { store, ...settings.config } });
    await redisDecides(replica.gateway);
    replicas.push(replica);
  }
  return replicas;
}
