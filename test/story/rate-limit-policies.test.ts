import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import { changeLimits, serves } from '../support/edit-config.ts';
import { startGateway } from '../support/gateway.ts';
import { callOnce, grpcClient, startGrpcServer } from '../support/grpc.ts';
import { askOnce, fieldOf, startLimited } from '../support/limits.ts';
import { type PolicyItem, policiesIn, serviceLimitsIn } from '../support/rate-limit-policies.ts';
import { tempText } from '../support/temp.ts';
import { clockOfLimits } from '../support/test-clock.ts';
import { names, type Response } from '../support/wire/index.ts';

const limits = {
  headers: ['x-ratelimit', 'ratelimit'],
  global: { user: '9/60s', address: '1/60s' },
  buckets: { writes: { main: 'id', user: '2/60s', resource: '3/30s' }, odd: { user: '65535/18h' } },
  routes: { 'PUT /things/{id}': 'writes', 'GET /odd': 'odd' },
};

/** What both fields of a response say. */
function said(response: Response | undefined): { policies: PolicyItem[]; left: PolicyItem[] } {
  return {
    policies: policiesIn(fieldOf(response, 'ratelimit-policy')),
    left: serviceLimitsIn(fieldOf(response, 'ratelimit')),
  };
}

const namesOf = (response: Response | undefined) =>
  names(response?.fields ?? []).filter(name => /^ratelimit/i.test(name));

const echo: UntypedServiceImplementation[string] = (
  call: { request: Buffer },
  done: (error: null, message: Buffer) => void,
) => done(null, call.request);

/** Seconds, on a machine that may be busy. */
const near = (seconds: number) => expect.closeTo(seconds, -1);

describe('RateLimit and RateLimit-Policy', () => {
  test('of a service give way to those of the gateway, if it sends them, and follow a reload', async () => {
    const theirs = ['RateLimit', '"theirs";r=1', 'RateLimit-Policy', '"theirs";q=2', 'RateLimit-Limit', '7'];
    const front = await startLimited(limits, {
      upstream: async exchange => {
        await exchange.received();
        await exchange.send(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nRateLimit: "theirs";r=1\r\n\r\n`);
        const head = theirs.map((part, i) => (i % 2 === 0 ? `${part}: ` : `${part}\r\n`)).join('');
        await exchange.send(`HTTP/1.1 200 OK\r\n${head}Content-Length: 0\r\n\r\n`);
      },
      config: { cors: { origins: 'any' } },
    });
    const ask = (target: string) =>
      askOnce(front, target, front.issuer.bearer(), 'Origin: https://app.example');
    expect(namesOf(await ask('GET /unlimited'))).toEqual([]);
    const limited = await ask('GET /odd');
    expect(namesOf(limited)).toEqual(['RateLimit-Policy', 'RateLimit']);
    expect(said(limited).left[0]?.name).toBe('odd');
    expect(fieldOf(limited, 'access-control-expose-headers')).toMatch(/, RateLimit, RateLimit-Policy$/);

    await changeLimits(front.gateway, { ...limits, headers: ['x-ratelimit'] });
    await serves(front.gateway, 2);
    const passed = await ask('GET /odd');
    expect(namesOf(passed)).toEqual(['RateLimit', 'RateLimit-Policy', 'RateLimit-Limit']);
    expect(fieldOf(passed, 'ratelimit')).toBe('"theirs";r=1');
    expect(fieldOf(passed, 'access-control-expose-headers')).not.toContain('RateLimit-Policy');
    expect(fieldOf(passed, 'x-ratelimit-remaining')).toBe('65533');
  });

  test("come with a service's 429 as the other headers do", async () => {
    const spoken =
      'HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nX-RateLimit-Scope: user\r\nContent-Type: application/json\r\nRateLimit: "theirs";r=0;t=7\r\nContent-Length: 52\r\n\r\n{"message":"theirs","retry_after":6.5,"global":false';
    const front = await startLimited(limits, {
      routes: [{ path: '/passing', upstream_429: 'pass' }],
      upstream: async exchange => {
        await exchange.received();
        if (exchange.request.target !== '/things/1') await exchange.send(`${spoken.replace('52', '53')}}`);
        else await exchange.send('HTTP/1.1 429 Slow\r\nRateLimit: "theirs";r=0\r\nContent-Length: 0\r\n\r\n');
      },
    });
    const token = front.issuer.bearer();
    expect(said(await askOnce(front, 'PUT /things/1', token)).left).toMatchObject([{ name: 'writes', r: 1 }]);
    for (const target of ['GET /odd', 'GET /passing']) {
      const passed = await askOnce(front, target, token);
      expect(fieldOf(passed, 'ratelimit')).toBe('"theirs";r=0;t=7');
      expect(fieldOf(passed, 'ratelimit-policy')).toBeUndefined();
    }
  });

  test('are metadata of gRPC calls', async () => {
    const port = await startGrpcServer({ Unary: echo });
    const text = {
      headers: ['x-ratelimit', 'ratelimit'],
      global: 'off',
      buckets: { calls: { address: '1/60s' } },
      routes: { 'GRPC test.v1.Echo/*': 'calls' },
    };
    const gateway = await startGateway({
      upstreamPort: port,
      clock: clockOfLimits(),
      config: {
        listen: { http: { address: '127.0.0.1:0', h2c: true }, admin: '127.0.0.1:0' },
        upstreams: { calls: { url: `http://127.0.0.1:${port}`, protocol: 'grpc' } },
        routes: [{ grpc: 'test.v1.Echo/*', upstream: 'calls', authentication: 'none' }],
        limits: await tempText('limits.yaml', JSON.stringify(text)),
      },
    });
    const client = grpcClient(gateway.port);
    const [admitted, refused] = [
      (await callOnce(client, '/test.v1.Echo/Unary')).head,
      (await callOnce(client, '/test.v1.Echo/Unary')).status.metadata,
    ];
    for (const metadata of [admitted, refused]) {
      const text = (name: string) => metadata.get(name).join();
      expect(policiesIn(text('ratelimit-policy'))).toEqual([{ name: 'calls', q: 1, w: 60 }]);
      expect(serviceLimitsIn(text('ratelimit'))).toEqual([{ name: 'calls', r: 0, t: near(60) }]);
    }
  });
});
