import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import { changeLimits, serves } from '../support/edit-config.ts';
import { startGateway } from '../support/gateway.ts';
import { callOnce, grpcClient, startGrpcServer } from '../support/grpc.ts';
import { askOnce, askTimes, fieldOf, startLimited, statusesOf } from '../support/limits.ts';
import { type PolicyItem, policiesIn, serviceLimitsIn } from '../support/rate-limit-policies.ts';
import { tempText } from '../support/temp.ts';
import { names, type Response } from '../support/wire/index.ts';

const ODD = `9${'Az.-_0'.repeat(10)}Zz`;
const limits = {
  headers: ['x-ratelimit', 'ratelimit'],
  global: { user: '9/60s', address: '1/60s' },
  buckets: {
    writes: { main: 'id', user: '2/60s', resource: '3/30s' },
    steps: { user: '100/60s', algorithm: 'smooth' },
    tried: { user: '1/60s', shadow: true },
    partly: { user: '9/60s', shadow: { user: '1/60s' } },
    [ODD]: { user: '65535/18h' },
  },
  routes: {
    'PUT /things/{id}': 'writes',
    'GET /steps': 'steps',
    'GET /tried': 'tried',
    'GET /partly': 'partly',
    'GET /odd': ODD,
  },
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
const GLOBAL = { name: 'global', q: 9, w: 60 };
const RESOURCE = { name: 'writes/resource', q: 3, w: 30 };

describe('RateLimit and RateLimit-Policy', () => {
  test('are not sent unless limits.yaml says so', async () => {
    const { headers: _, ...others } = limits;
    const front = await startLimited(others);
    const responses = await askTimes(front, 3, 'PUT /things/1', front.issuer.bearer());
    expect(statusesOf(responses)).toEqual([200, 200, 429]);
    expect(responses.flatMap(namesOf)).toEqual([]);
    expect(fieldOf(responses[2], 'x-ratelimit-limit')).toBe('2');
  });

  test('tell every limit of the request, and what is left of the one that the other headers describe', async () => {
    const front = await startLimited(limits);
    const alice = front.issuer.bearer({ sub: 'alice' });
    const bob = front.issuer.bearer({ sub: 'bob' });
    const policies = [{ name: 'writes', q: 2, w: 60 }, RESOURCE, GLOBAL];
    const [first, second, third] = await askTimes(front, 3, 'PUT /things/1', alice);
    const pk = fieldOf(first, 'x-ratelimit-bucket');
    expect(said(first)).toEqual({ policies, left: [{ name: 'writes', r: 1, t: near(60), pk }] });
    expect(said(second)).toEqual({ policies, left: [{ name: 'writes', r: 0, t: near(60), pk }] });
    expect(third?.status).toBe(429);
    expect(said(third)).toEqual({ policies, left: [{ name: 'writes', r: 0, t: near(60), pk }] });
    expect(said(third).left[0]?.['t']).toBe(Number(fieldOf(third, 'retry-after')));

    // That of all callers together.
    const [, shared] = await askTimes(front, 2, 'PUT /things/1', bob);
    expect(shared?.status).toBe(429);
    expect(said(shared).left).toEqual([{ name: 'writes/resource', r: 0, t: near(30), pk }]);
    // Another main value is another part.
    const other = await askOnce(front, 'PUT /things/2', bob);
    expect(said(other).left[0]?.['pk']).toBe(fieldOf(other, 'x-ratelimit-bucket'));
    expect(said(other).left[0]?.['pk']).not.toBe(pk);

    // A bucket without a main parameter has no parts; a smooth one has a next unit long before all of them.
    const smooth = await askOnce(front, 'GET /steps', bob);
    expect(said(smooth)).toEqual({
      policies: [{ name: 'steps', q: 100, w: 60 }, GLOBAL],
      left: [{ name: 'steps', r: 99, t: 1 }],
    });
    expect(said(await askOnce(front, 'GET /odd', bob)).policies[0]).toEqual({
      name: ODD,
      q: 65_535,
      w: 64_800,
    });
  });

  test('are on a global 429 as well, and say when it ends', async () => {
    const front = await startLimited(limits);
    const token = front.issuer.bearer();
    await askTimes(front, 9, 'GET /odd', token);
    for (const target of ['GET /odd', 'GET /unlimited']) {
      const refused = await askOnce(front, target, token);
      expect(fieldOf(refused, 'x-ratelimit-global')).toBe('true');
      const { policies, left } = said(refused);
      expect(policies.at(-1)).toEqual(GLOBAL);
      expect(policies).toHaveLength(target === 'GET /odd' ? 2 : 1);
      expect(left).toEqual([{ name: 'global', r: 0, t: Number(fieldOf(refused, 'retry-after')) }]);
    }
    // Nor has a request without a token other policies than those of its address.
    const [, anonymous] = await askTimes(front, 2, 'GET /open/things');
    expect(said(anonymous).policies).toEqual([{ name: 'global', q: 1, w: 60 }]);
  });

  test('say nothing of limits in shadow, nor where no bucket takes part', async () => {
    const front = await startLimited(limits);
    const token = front.issuer.bearer();
    const [, tried] = await askTimes(front, 2, 'GET /tried', token);
    expect([tried?.status, namesOf(tried)]).toEqual([200, []]);
    const partly = await askOnce(front, 'GET /partly', token);
    expect(said(partly)).toEqual({
      policies: [{ name: 'partly', q: 9, w: 60 }, GLOBAL],
      left: [{ name: 'partly', r: 8, t: near(60) }],
    });
    expect(namesOf(await askOnce(front, 'GET /unlimited', token))).toEqual([]);
    expect(namesOf(await askOnce(front, 'GET /odd'))).toEqual([]);
  });

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
    expect(said(limited).left[0]?.name).toBe(ODD);
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
