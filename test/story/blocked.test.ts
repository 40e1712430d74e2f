import { describe, expect, onTestFinished, test } from 'vitest';
import { changeLimits, serves } from '../support/edit-config.ts';
import type { ConfigPart } from '../support/gateway.ts';
import { startGatewayOf } from '../support/identity-gateway.ts';
import { askOnce, fieldOf, refusalOf, startLimited } from '../support/limits.ts';
import { startRedis } from '../support/redis.ts';
import { redisDecides } from '../support/redis-gateway.ts';
import { head } from '../support/requests.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { waitFor } from '../support/wait.ts';

const ALICE = { client: 'app', subject: 'alice' };
const claimsOf = (sub: string) => ({ azp: 'app', sub });

describe('a caller who is blocked', () => {
  test('gets what a restricted one gets, with the longest wait, until it is no longer listed', async () => {
    const blocked = { callers: [ALICE] };
    const front = await startLimited({ global: 'off', blocked });
    const [alice, bob] = [front.issuer.bearer(claimsOf('alice')), front.issuer.bearer(claimsOf('bob'))];
    const refused = await askOnce(front, 'GET /a', alice);
    expect(refusalOf(refused)).toEqual({
      message: 'You are blocked.',
      retry_after: 65_535,
      global: true,
      code: 8,
    });
    expect(fieldOf(refused, 'retry-after')).toBe('65535');
    expect((await askOnce(front, 'GET /a', bob)).status).toBe(200);
    // Where tokens are ignored, it is an address like any other.
    expect((await askOnce(front, 'GET /open/a', alice)).status).toBe(200);
    expect((await front.gateway.metric('weir_invalid_requests_total')).get('{status="429"}')).toBe(0);
    await changeLimits(front.gateway, { global: 'off' });
    await serves(front.gateway, 2);
    expect((await askOnce(front, 'GET /a', alice)).status).toBe(200);
  });

  test('has its long-lived streams closed', async () => {
    const front = await startLimited(
      { global: 'off' },
      {
        upstream: async exchange => {
          await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
          await exchange.gone;
        },
      },
    );
    const stream = await front.gateway.connect();
    await stream.send(head('GET /stream', front.issuer.bearer(claimsOf('alice'))));
    await waitFor('the stream has begun', () => stream.bytesRead > 0);
    await changeLimits(front.gateway, { global: 'off', blocked: { callers: [ALICE] } });
    await front.gateway.time.advanceUntil('the stream is closed', () => stream.end !== null);
  });
});

test('a blocked caller is blocked at each gateway that reads the file', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const issuer = await startIssuer();
  const start = async (limits: ConfigPart) => {
    const config = { store: { redis: `redis://127.0.0.1:${redis.port}`, timeout: '1s' } };
    const started = await startGatewayOf(issuer, { limits, config });
    await redisDecides(started.gateway);
    return { ...started, issuer };
  };
  const fronts = [await start({ global: 'off' }), await start({ global: 'off' })];
  for (const front of fronts) {
    expect((await askOnce(front, 'GET /a', issuer.bearer(claimsOf('alice')))).status).toBe(200);
    await changeLimits(front.gateway, { global: 'off', blocked: { callers: [ALICE] } });
  }
  for (const front of fronts) {
    await serves(front.gateway, 2);
    expect((await askOnce(front, 'GET /a', issuer.bearer(claimsOf('alice')))).status).toBe(429);
  }
});
