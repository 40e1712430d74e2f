import { describe, expect, it } from 'vitest';
import { changeConfig, serves } from '../support/edit-config.ts';
import { startGatewayOf } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { startUpstream } from '../support/wire/index.ts';

const SPLIT = { api: 50, 'api-next': 50 };

/** An upstream that says its name. */
const named = (name: string) => startUpstream(exchange => exchange.answer(200, [], name));

async function twoSides() {
  const [one, two] = [await named('api'), await named('api-next')];
  return {
    api: { url: `http://127.0.0.1:${one.port}` },
    'api-next': { url: `http://127.0.0.1:${two.port}`, max_requests: 7 },
  };
}

const CALLERS = Array.from({ length: 12 }, (_, index) => `u${index}`);

async function sides(
  gateway: { ask(bytes: string): Promise<{ readonly body: Buffer }> },
  issuer: TestIssuer,
  target = '/a',
): Promise<string[]> {
  const answers: string[] = [];
  for (const sub of CALLERS)
    answers.push((await gateway.ask(head(`GET ${target}`, issuer.bearer({ sub })))).body.toString());
  return answers;
}

describe('upstreams that share the callers of a route', () => {
  it('serve the same callers on every gateway, route and connection, and the counts tell them apart', async () => {
    const issuer = await startIssuer();
    const upstreams = await twoSides();
    const routes = [
      { path: '/a', upstream: SPLIT },
      { path: '/b', upstream: { 'api-next': 50, api: 50 } },
    ];
    const config = { upstreams, routes };
    const [{ gateway }, { gateway: other }] = [
      await startGatewayOf(issuer, { config }),
      await startGatewayOf(issuer, { config }),
    ];
    const found = await sides(gateway, issuer);
    expect(new Set(found)).toEqual(new Set(['api', 'api-next']));
    expect(await sides(gateway, issuer, '/b')).toEqual(found);
    expect(await sides(other, issuer)).toEqual(found);
    for (const [index, sub] of CALLERS.entries())
      expect(await explained(gateway, sub)).toContain(
        `api for 50%, api-next for 50% of callers; this one goes to ${found[index]}"`,
      );
    const counted = await other.counted('weir_upstream_responses_total');
    for (const name of ['api', 'api-next'])
      expect(counted.get(`{upstream="${name}",class="2xx"}`)).toBe(
        found.filter(side => side === name).length,
      );
  });

  it('keep their callers when the share grows, and get the rest with all of it', async () => {
    const issuer = await startIssuer();
    const upstreams = await twoSides();
    const { gateway } = await startGatewayOf(issuer, {
      config: { upstreams, routes: [{ path: '/a', upstream: { api: 70, 'api-next': 30 } }] },
    });
    const before = await sides(gateway, issuer);
    await changeConfig(gateway, { routes: [{ path: '/a', upstream: SPLIT }] });
    await serves(gateway, 2);
    const after = await sides(gateway, issuer);
    for (const [index, side] of before.entries())
      if (side === 'api-next') expect(after[index]).toBe('api-next');
    await changeConfig(gateway, { routes: [{ path: '/a', upstream: { api: 0, 'api-next': 100 } }] });
    await serves(gateway, 3);
    expect(new Set(await sides(gateway, issuer))).toEqual(new Set(['api-next']));
  });

  it('keep their callers when one that is named with 0 gets a share', async () => {
    const issuer = await startIssuer();
    const third = await named('third');
    const upstreams = { ...(await twoSides()), third: { url: `http://127.0.0.1:${third.port}` } };
    const { gateway } = await startGatewayOf(issuer, {
      config: { upstreams, routes: [{ path: '/a', upstream: { ...SPLIT, third: 0 } }] },
    });
    const before = await sides(gateway, issuer);
    expect(new Set(before)).toEqual(new Set(['api', 'api-next']));
    await changeConfig(gateway, {
      routes: [{ path: '/a', upstream: { api: 50, 'api-next': 49, third: 1 } }],
    });
    await serves(gateway, 2);
    const after = await sides(gateway, issuer);
    expect(after.map(side => side === 'api')).toEqual(before.map(side => side === 'api'));
  });

  it('are explained by address where a token is optional and none is told', async () => {
    const issuer = await startIssuer();
    const { gateway } = await startGatewayOf(issuer, {
      config: {
        trusted_proxies: ['127.0.0.1'],
        upstreams: await twoSides(),
        routes: [{ path: '/**', upstream: SPLIT, authentication: 'optional' }],
      },
    });
    const explain = async (query: string) =>
      (await gateway.admin(`/api/explain?method=GET&path=/&${query}`)).text;
    for (let i = 0; i < 8; i++) {
      const address = `192.0.2.${i}`;
      const side = (await gateway.ask(head('GET /', `X-Forwarded-For: ${address}`))).body.toString();
      expect(await explain(`address=${address}`)).toContain(
        `of callers; without a token this one goes to ${side}"`,
      );
      expect(await explain(`address=${address}&as=address`)).toContain(
        `of callers; this one goes to ${side}"`,
      );
      expect(await explain(`address=${address}&as=user`)).toContain('this caller uses is unknown');
    }
  });
});

async function explained(gateway: { admin(path: string): Promise<{ readonly text: string }> }, sub: string) {
  const query = new URLSearchParams({ method: 'GET', path: '/a', client: 'app', subject: sub });
  return (await gateway.admin(`/api/explain?${query}`)).text;
}
