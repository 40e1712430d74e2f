import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import { expectInvalidToken, expectUnauthenticated } from '../support/error-object.ts';
import { flood } from '../support/flood.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { type IdentitySettings, identityConfig, startGatewayOf } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { runs } from '../support/runs.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { aMinuteAgo, startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { base64Url } from '../support/token-issuer.ts';
import { header, names, type Response, startUpstream, values } from '../support/wire/index.ts';

/** Of a window that closes long after the test. */
const LONG = { failed_verifications: '5/1h' };
/** What an address still gets checked in a second, once its budget is spent. */
const PER_SECOND = 10;

/** Many times what the budget lets through. */
const FORGED = runs(100_000, 4_000);

const get = (line: string) => head('GET /things', line);

async function front(settings: Omit<IdentitySettings, 'issuer'> = {}) {
  const issuer = await startIssuer();
  return { issuer, ...(await startGatewayOf(issuer, { limits: LONG, ...settings })) };
}

/** Makes tokens in which nothing is wrong but the signature, and no two are the same. */
function forger(issuer: TestIssuer, kid = 'first'): () => string {
  const protectedHeader = base64Url(JSON.stringify({ alg: 'ES256', kid }));
  const payload = base64Url(JSON.stringify(issuer.claims(aMinuteAgo())));
  const signature = Buffer.alloc(64, 7);
  let made = 0;
  return () => {
    signature.writeUInt32BE(++made);
    return `Authorization: Bearer ${protectedHeader}.${payload}.${signature.toString('base64url')}`;
  };
}

/** Sends forged tokens until the address has got nothing but refusals for the rest of a second, and returns one of them. */
async function spend(
  gateway: TestGateway,
  line: () => string,
  localAddress = '127.0.0.1',
): Promise<Response> {
  const client = await gateway.connect({ localAddress });
  for (let sent = 0; sent < 100; sent += 1) {
    const response = await client.ask(get(line()));
    if (response.status === 429) return response;
    expectInvalidToken(response);
  }
  throw new Error('the budget does not come to an end');
}

async function checks(gateway: TestGateway, good: boolean): Promise<number> {
  const counted = await gateway.metric('weir_signature_checks_total');
  return counted.get(`{algorithm="ES256",good="${good}"}`) ?? 0;
}

describe('an address that spends its budget of failed verifications', () => {
  test('is refused as by a global limit, word for word', async () => {
    const { issuer, gateway, upstream } = await front();
    const response = await spend(gateway, forger(issuer));
    expect(response).toMatchObject({ reason: 'Too Many Requests', complete: true });
    expect(JSON.parse(response.body.toString())).toEqual({
      message: expect.stringMatching(/^[\x20-\x7e]+$/),
      retry_after: expect.any(Number),
      global: true,
    });
    const { retry_after: waitS } = JSON.parse(response.body.toString());
    expect(waitS).toBeGreaterThan(3_500);
    expect(waitS).toBeLessThanOrEqual(3_600);
    expect(Math.round(waitS * 1_000) / 1_000).toBe(waitS);
    expect(header(response, 'retry-after')).toBe(String(Math.ceil(waitS)));
    const ofLimits = names(response.fields).filter(name => /^x-ratelimit|^retry-after$/i.test(name));
    expect(ofLimits.sort()).toEqual(['Retry-After', 'X-RateLimit-Global', 'X-RateLimit-Scope']);
    expect(header(response, 'x-ratelimit-global')).toBe('true');
    expect(header(response, 'x-ratelimit-scope')).toBe('global');
    expect(header(response, 'content-type')).toBe('application/json');
    expect(header(response, 'content-length')).toBe(String(response.bodyBytes));
    expect(header(response, 'cache-control')).toBe('no-store');
    expect(header(response, 'www-authenticate')).toBeUndefined();
    expect(values(response.fields, 'via')).toEqual(['1.1 weir']);
    expect(header(response, 'x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
    expect(Date.parse(header(response, 'date') ?? '')).not.toBeNaN();
    expect(upstream.requests).toEqual([]);
  });

  test('is the client’s, not its proxy’s, and the whole /64 where it is IPv6', async () => {
    const { issuer, gateway } = await front({ config: { trusted_proxies: ['127.0.0.1'] } });
    const forged = forger(issuer);
    const from = async (address: string) =>
      (await gateway.ask(head('GET /things', `X-Forwarded-For: ${address}`, forged()))).status;
    const statuses: number[] = [];
    for (let i = 0; i < 30; i += 1) statuses.push(await from(`2001:db8::${i}`));
    expect(statuses.slice(0, 5)).toEqual(Array(5).fill(401));
    expect(statuses).toContain(429);
    expect([await from('2001:db8:0:1::1'), await from('192.0.2.1')]).toEqual([401, 401]);
  });

  test('hears so without being asked for its body', async () => {
    const { issuer, gateway, upstream } = await front();
    const forged = forger(issuer);
    await spend(gateway, forged);
    const toHead = await gateway.ask(head('HEAD /things', forged()));
    expect(toHead).toMatchObject({ status: 429, bodyBytes: 0, complete: true });
    const toPost = await gateway.ask(
      head('POST /things', 'Content-Length: 5', 'Expect: 100-continue', forged()),
    );
    expect(toPost).toMatchObject({ status: 429, interim: [] });
    expect(upstream.requests).toEqual([]);
    expectUnauthenticated(await gateway.ask(head('GET /things')));
    expect((await gateway.ask(head('GET /v1/anonymous/authorize-url'))).status).toBe(200);
  });
});

test('many forged tokens cost the gateway a thousand checks and little memory', async () => {
  const issuer = await startIssuer();
  const upstream = await startUpstream();
  const settings = {
    issuer: issuer.url,
    config: { log: { level: 'silent', access: false } },
    // Else the address would be restricted after ten thousand of them.
    limits: { invalid_requests: 'off' },
  };
  const gateway = await startGatewayProcess(await identityConfig(settings, upstream));
  const known = issuer.bearer();
  expect((await gateway.ask(get(known), { localAddress: '127.0.0.2' })).status).toBe(200);
  const forged = forger(issuer);
  const sinceMs = systemClock.monotonicMs();
  await flood(gateway, FORGED / 10, () => get(forged()));
  const before = await gateway.memoryBytes();
  await flood(gateway, 0.9 * FORGED, () => get(forged()));
  expect((await gateway.memoryBytes()) - before).toBeLessThan(64 * 1024 * 1024);
  // The budget, and what is checked beyond it in as many seconds as it took.
  const seconds = Math.ceil((systemClock.monotonicMs() - sinceMs) / 1_000) + 1;
  expect(await checks(gateway, false)).toBeLessThanOrEqual(
    1_000 * Math.ceil(seconds / 60) + PER_SECOND * seconds,
  );
  expect((await gateway.ask(get(known))).status).toBe(200);
  expect((await gateway.ask(get(issuer.bearer()), { localAddress: '127.0.0.2' })).status).toBe(200);
  expect(gateway.running).toBe(true);
});
