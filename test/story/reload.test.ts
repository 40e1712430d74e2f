import { mkdir, readFile, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  changeConfig,
  changeLimits,
  configPart,
  limitsFile,
  refusals,
  replaceFile,
  serves,
  statusOf,
} from '../support/edit-config.ts';
import { startGateway, withoutWorkers } from '../support/gateway.ts';
import { startGatewayOf, startIdentityGateway } from '../support/identity-gateway.ts';
import { askOnce, askTimes, type LimitedGateway, rateOf, startLimited } from '../support/limits.ts';
import { head, withBody } from '../support/requests.ts';
import { redeem } from '../support/sign-in-client.ts';
import { inTime } from '../support/test-clock.ts';
import { aMinuteAgo, startIssuer } from '../support/test-issuer.ts';
import { issuerKey, signToken } from '../support/token-issuer.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { header, startUpstream, type UpstreamExchange, values } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const LINE = 'GET /things/{id}';
const bucketOf = (bucket: object) => ({
  global: 'off',
  buckets: { things: { main: 'id', ...bucket } },
  routes: { [LINE]: 'things' },
});

function limited(bucket: object): Promise<LimitedGateway> {
  return startLimited(bucketOf(bucket), { clock: new FrozenClock(Date.now()) });
}

describe('a changed number', () => {
  it('acts at once, and what was counted stays', async () => {
    const front = await limited({ user: '5/1m' });
    const bearer = front.issuer.bearer();
    const [, , before] = (await askTimes(front, 3, 'GET /things/1', bearer)).map(rateOf);
    expect(before).toMatchObject({ limit: 5, remaining: 2 });
    await changeLimits(front.gateway, bucketOf({ user: '10/1m' }));
    await serves(front.gateway, 2);
    const raised = rateOf(await askOnce(front, 'GET /things/1', bearer));
    expect(raised).toMatchObject({ limit: 10, remaining: 6, bucket: before?.bucket, reset: before?.reset });
    await changeLimits(front.gateway, bucketOf({ user: '3/1m' }));
    await serves(front.gateway, 3);
    const lowered = await askOnce(front, 'GET /things/1', bearer);
    expect(lowered.status).toBe(429);
    expect(rateOf(lowered)).toMatchObject({ limit: 3, remaining: 0, reset: before?.reset });
  });

  it('of allowed offences does so too, and addresses that may no longer be restricted are released', async () => {
    const front = await startLimited({ global: 'off', invalid_requests: 'off' });
    const ask = async () => (await askOnce(front, 'GET /a')).status;
    for (let n = 0; n < 5; n++) expect(await ask()).toBe(401);
    const rule = { limit: '3/10m', restrict_for: '10m' };
    await changeLimits(front.gateway, { global: 'off', invalid_requests: rule });
    await serves(front.gateway, 2);
    expect([await ask(), await ask(), await ask(), await ask(), await ask()]).toEqual([
      401, 401, 401, 401, 429,
    ]);
    await changeLimits(front.gateway, {
      global: 'off',
      invalid_requests: rule,
      never_restrict: ['127.0.0.1'],
    });
    await serves(front.gateway, 3);
    expect(await ask()).toBe(401);
  });

  it('of allowed failed verifications applies to those already counted', async () => {
    const limits = (n: number) => ({ global: 'off', failed_verifications: `${n}/10m` });
    // Ten a second are verified all the same: no second passes.
    const front = await startLimited(limits(3), { clock: new FrozenClock(Date.now()) });
    const forged = (n: number) => `${front.issuer.bearer({ ...aMinuteAgo(), jti: n }).slice(0, -6)}AAAAAA`;
    const spent = async () =>
      (await front.gateway.metric('weir_tokens_total')).get('{outcome="put_off"}') ?? 0;
    for (let n = 0; n < 20; n++) await askOnce(front, 'GET /a', forged(n));
    expect(await spent()).toBeGreaterThan(0);
    await changeLimits(front.gateway, limits(1_000));
    await serves(front.gateway, 2);
    const before = await spent();
    for (let n = 20; n < 40; n++) expect((await askOnce(front, 'GET /a', forged(n))).status).toBe(401);
    expect(await spent()).toBe(before);
  });
});

describe('a bad file', () => {
  it('changes nothing, and is reported once with all its errors', async () => {
    const front = await limited({ user: '5/1m' });
    const { gateway } = front;
    const bearer = front.issuer.bearer();
    await askTimes(front, 2, 'GET /things/1', bearer);
    const hash = (await statusOf(gateway)).configuration.hash;
    await replaceFile(await limitsFile(gateway), 'buckts: {}\nglobal: { usr: 5/5s }\n');
    await refusals(gateway, 1);
    expect(rateOf(await askOnce(front, 'GET /things/1', bearer))).toMatchObject({ limit: 5, remaining: 2 });
    const { configuration } = await statusOf(gateway);
    expect(configuration).toMatchObject({ generation: 1, hash, lastFailure: { mended: false } });
    expect(configuration.lastFailure?.errors).toEqual([
      expect.stringMatching(/limits\.yaml:1:1: unknown key "buckts", did you mean "buckets"\?$/),
      expect.stringMatching(/limits\.yaml:2:11: global: unknown key "usr", did you mean "user"\?$/),
    ]);
    expect((await gateway.metric('weir_config_last_reload_successful')).get('')).toBe(0);
    await gateway.app.reload();
    const told = gateway.logLines.map(line => JSON.parse(line)).filter(({ level }) => level === 'error');
    // Once by itself, once because somebody asked.
    expect(told.map(({ errors }) => errors)).toEqual([
      configuration.lastFailure?.errors,
      configuration.lastFailure?.errors,
    ]);
    // A warning comes first in the file, but does not refuse it.
    await replaceFile(
      await limitsFile(gateway),
      'buckets: { unused: { user: 1/1s } }\nglobal: { user: 5 }\n',
    );
    await refusals(gateway, 3);
    expect((await statusOf(gateway)).configuration.reloads[0]).toMatchObject({
      outcome: 'refused',
      error: expect.stringMatching(/limits\.yaml:2:17: global\.user: expected off/),
      moreErrors: 1,
    });
    await changeLimits(gateway, bucketOf({ user: '6/1m' }));
    const after = await serves(gateway, 2);
    expect(after.configuration.lastFailure?.mended).toBe(true);
    expect((await gateway.metric('weir_config_last_reload_successful')).get('')).toBe(1);
    expect([...(await gateway.metric('weir_config_info'))]).toEqual([
      [`{hash="${after.configuration.hash}",generation="2"}`, 1],
    ]);
    expect(after.configuration.hash).not.toBe(hash);
    const at = (await gateway.metric('weir_config_last_reload_timestamp_seconds')).get('') ?? 0;
    expect(Math.abs(at - Date.now() / 1_000)).toBeLessThan(60);
  });

  it('may be missing, and works again when it is back', async () => {
    const front = await limited({ user: '5/1m' });
    const path = await limitsFile(front.gateway);
    const text = await readFile(path, 'utf8');
    await unlink(path);
    await refusals(front.gateway, 1);
    expect((await askOnce(front, 'GET /things/1', front.issuer.bearer())).status).toBe(200);
    await replaceFile(path, text);
    await waitFor(
      'it is good',
      async () => (await statusOf(front.gateway)).configuration.lastFailure?.mended === true,
    );
    expect((await statusOf(front.gateway)).configuration.generation).toBe(1);
  });

  it('may become a folder, at first an empty one, and a file again', async () => {
    const { gateway } = await limited({ user: '5/1m' });
    const path = await limitsFile(gateway);
    const text = await readFile(path, 'utf8');
    await unlink(path);
    await mkdir(path);
    await waitFor('it is refused', async () => (await statusOf(gateway)).configuration.lastFailure !== null);
    await writeFile(join(path, 'a.yaml'), text.replace('5/1m', '6/1m'));
    await serves(gateway, 2);
    await rm(path, { recursive: true });
    await replaceFile(path, text.replace('5/1m', '7/1m'));
    await serves(gateway, 3);
  });
});

describe('an upstream', () => {
  it('that stays as it is keeps its connections, whatever else changes', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port });
    // Each worker has connections of its own.
    const client = await gateway.connect();
    await client.ask(head('GET /a'));
    await changeConfig(gateway, { cors: { origins: ['https://app.example'] }, caps: { requests: 50 } });
    await serves(gateway, 2);
    const response = await client.ask(head('GET /a', 'Origin: https://app.example'));
    expect(header(response, 'access-control-allow-origin')).toBe('https://app.example');
    expect(upstream.connections).toHaveLength(1);
  });

  it('that moved is asked at its new place, and finishes at the old one what it began', async () => {
    const finish = Promise.withResolvers<void>();
    const old = await startUpstream(async (exchange: UpstreamExchange) => {
      await exchange.received();
      if (exchange.request.target === '/quick') return exchange.answer(200, [], 'old');
      await exchange.send('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nold');
      await finish.promise;
      await exchange.send('old');
    });
    const moved = await startUpstream(exchange => exchange.answer(200, [], 'new'));
    const gateway = await startGateway({ upstreamPort: old.port, api: { keep_alive: '1m' } });
    const slow = await gateway.connect();
    await slow.send(head('GET /slow'));
    await waitFor('the response has begun', () => slow.received.includes('\r\n\r\nold'));
    await gateway.ask(head('GET /quick'));
    expect(old.openConnections).toHaveLength(2);
    await changeConfig(gateway, { upstreams: { api: { url: `http://127.0.0.1:${moved.port}` } } });
    await serves(gateway, 2);
    expect((await gateway.ask(head('GET /quick'))).body.toString()).toBe('new');
    await waitFor('the idle connection is closed', () => old.openConnections.length === 1);
    finish.resolve();
    expect((await slow.answer()).body.toString()).toBe('oldold');
    await waitFor('no connection is left', () => old.openConnections.length === 0);
    // The client's connection goes on, by the new configuration.
    expect((await slow.ask(head('GET /quick'))).body.toString()).toBe('new');
  });

  it('that is gone leaves the status when its last response has ended', async () => {
    const finish = Promise.withResolvers<void>();
    const gone = await startUpstream(async exchange => {
      await exchange.send('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n');
      await finish.promise;
      await exchange.send('x');
    });
    const gateway = await startGateway({ upstreamPort: gone.port, api: { keep_alive: '1m' } });
    const client = await gateway.connect();
    await client.send(head('GET /a'));
    await waitFor('it is under way', () => gone.requests.length === 1);
    const other = { url: 'http://127.0.0.1:1' };
    await changeConfig(gateway, {
      upstreams: { other },
      routes: [{ path: '/**', upstream: 'other', authentication: 'none' }],
    });
    const { upstreams } = await serves(gateway, 2);
    expect(upstreams).toMatchObject([
      { name: 'other', address: '127.0.0.1:1', connections: 0, requestsInFlight: 0, errors: null },
      { name: 'api', address: 'draining', connections: 1, requestsInFlight: 1, errors: null },
    ]);
    finish.resolve();
    expect((await client.answer()).body.toString()).toBe('x');
    await waitFor('it is gone', async () => (await statusOf(gateway)).upstreams.length === 1);
  });
});

describe('routes, proxies, timeouts and caps', () => {
  it('are those of the new configuration for the next request', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port });
    const client = await gateway.connect();
    const before = await client.ask(head('GET /a', 'X-Forwarded-For: 192.0.2.7'));
    expect(header(before, 'keep-alive')).toBe('timeout=75');
    await changeConfig(gateway, {
      trusted_proxies: ['127.0.0.1'],
      routes: [{ path: '/b', upstream: 'api', authentication: 'none' }],
      timeouts: { keep_alive: '30s' },
      caps: { head: '1KiB', fields: 5 },
    });
    await serves(gateway, 2);
    expect((await client.ask(head('GET /a'))).status).toBe(404);
    const response = await client.ask(head('GET /b', 'X-Forwarded-For: 192.0.2.7'));
    expect(header(response, 'keep-alive')).toBe('timeout=30');
    expect(upstream.requests.map(({ fields }) => fields[fields.indexOf('X-Forwarded-For') + 1])).toEqual([
      '127.0.0.1',
      '192.0.2.7, 127.0.0.1',
    ]);
    const long = `X-Long: ${'x'.repeat(2_000)}`;
    expect((await gateway.ask(head('GET /b', long))).status).toBe(431);
    expect((await gateway.ask(head('GET /b', 'A: 1', 'B: 1', 'C: 1', 'D: 1', 'E: 1'))).status).toBe(431);
  });

  it('hold for what a client repeats on a connection that it has used before', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port });
    const client = await gateway.connect();
    const repeated = head('GET /a', 'X-Forwarded-For: 192.0.2.7', 'X-Tenant: other');
    const seen = async () => {
      expect((await client.ask(repeated)).status).toBe(200);
      const { fields } = upstream.requests.at(-1) ?? { fields: [] };
      return ['x-forwarded-for', 'x-tenant'].map(name => values(fields, name).join());
    };
    for (let i = 0; i < 2; i++) expect(await seen()).toEqual(['127.0.0.1', 'other']);
    await changeConfig(gateway, { forwarding_headers: ['X-Tenant'] });
    await serves(gateway, 2);
    for (let i = 0; i < 2; i++) expect(await seen()).toEqual(['127.0.0.1', '']);
    await changeConfig(gateway, { trusted_proxies: ['127.0.0.1'] });
    await serves(gateway, 3);
    for (let i = 0; i < 2; i++) expect(await seen()).toEqual(['192.0.2.7, 127.0.0.1', 'other']);
    await changeConfig(gateway, { caps: { fields: 2 } });
    await serves(gateway, 4);
    expect((await client.ask(repeated)).status).toBe(431);
  });

  it('of connections count those that were open before', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port });
    const open = [await gateway.connect(), await gateway.connect()];
    for (const client of open) await client.ask(head('GET /a'));
    await changeConfig(gateway, { caps: { connections: 2 } });
    await serves(gateway, 2);
    expect((await gateway.ask(head('GET /a'))).status).toBe(503);
    open[0]?.destroy();
    await waitFor('there is room', async () => (await gateway.ask(head('GET /a'))).status === 200);
  });

  it('are followed by what is logged', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port });
    const accesses = () => gateway.logLines.filter(line => line.includes('"type":"access"')).length;
    await gateway.ask(head('GET /a'));
    await changeConfig(gateway, { log: { level: 'info', access: true } });
    await serves(gateway, 2);
    await gateway.ask(head('GET /a'));
    expect(accesses()).toBe(1);
    await changeConfig(gateway, { log: { level: 'info', access: false } });
    await serves(gateway, 3);
    await gateway.ask(head('GET /a'));
    expect(accesses()).toBe(1);
  });
});

describe('what only a restart changes', () => {
  it('is shown as pending, and the rest applies', async () => {
    withoutWorkers();
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port });
    const listen = { http: '127.0.0.1:1', admin: 'off' };
    await changeConfig(gateway, { listen, routes: [] });
    const { configuration } = await serves(gateway, 2);
    expect(configuration.pendingRestart).toEqual([
      { key: 'listen.http', running: '127.0.0.1:0', wanted: '127.0.0.1:1' },
      { key: 'listen.admin', running: '127.0.0.1:0', wanted: 'off' },
    ]);
    expect((await gateway.metric('weir_config_restart_keys')).get('')).toBe(2);
    expect((await gateway.ask(head('GET /a'))).status).toBe(404);
    await changeConfig(gateway, { listen: { http: '127.0.0.1:0', admin: '127.0.0.1:0' } });
    expect((await serves(gateway, 3)).configuration.pendingRestart).toEqual([]);
  });
});

describe('callers and their provider', () => {
  it('stay known when something else changes', async () => {
    const issuer = await startIssuer();
    const { gateway } = await startGatewayOf(issuer);
    // Each worker knows the callers that it has met.
    const client = await gateway.connect();
    const request = head('GET /a', issuer.bearer());
    await client.ask(request);
    const fetches = issuer.provider.keyFetches;
    await changeConfig(gateway, { caps: { requests: 50 } });
    await serves(gateway, 2);
    expect((await client.ask(request)).status).toBe(200);
    expect((await gateway.metric('weir_tokens_total')).get('{outcome="known"}')).toBe(1);
    expect(issuer.provider.keyFetches).toBe(fetches);
  });

  it('are read by the schemes of the new configuration on connections used before', async () => {
    const issuer = await startIssuer();
    const { gateway } = await startGatewayOf(issuer);
    const client = await gateway.connect();
    const request = head('GET /a', issuer.bearer()).replace('Bearer', 'Bot');
    await changeConfig(gateway, { access_tokens: { audience: 'api', schemes: ['Bearer', 'Bot'] } });
    await serves(gateway, 2);
    for (let i = 0; i < 2; i++) expect((await client.ask(request)).status).toBe(200);
    await changeConfig(gateway, { access_tokens: { audience: 'api', schemes: ['Bearer'] } });
    await serves(gateway, 3);
    expect((await client.ask(request)).status).toBe(401);
  });

  it('are checked again when the rules for tokens change', async () => {
    const issuer = await startIssuer();
    const { gateway } = await startGatewayOf(issuer);
    const request = head('GET /a', issuer.bearer());
    expect((await gateway.ask(request)).status).toBe(200);
    await changeConfig(gateway, { access_tokens: { audience: 'another' } });
    await serves(gateway, 2);
    expect((await gateway.ask(request)).status).toBe(401);
    const mark = String(Math.ceil(Date.now() / 1_000) + 3_600);
    await changeConfig(gateway, { access_tokens: { audience: 'api' } });
    await serves(gateway, 3);
    expect((await gateway.ask(request)).status).toBe(200);
    await changeConfig(gateway, { access_tokens: { audience: 'api', not_before: mark } });
    await serves(gateway, 4);
    expect((await gateway.ask(request)).status).toBe(401);
  });

  it('keep their keys when only the way to the provider changes', async () => {
    const issuer = await startIssuer();
    const { gateway } = await startGatewayOf(issuer);
    issuer.provider.keys = response => response.writeHead(500).end();
    issuer.provider.discovery = response => response.writeHead(500).end();
    await changeConfig(gateway, {
      identity_provider: { ...(await configPart(gateway, 'identity_provider')), timeout: '2s' },
    });
    await serves(gateway, 2);
    expect((await gateway.ask(head('GET /a', issuer.bearer()))).status).toBe(200);
    expect((await gateway.ask(head('GET /v1/anonymous/authorize-url'))).status).toBe(200);
  });

  it('change together, once the keys of another provider have come', async () => {
    const [first, second] = [await startIssuer(), await startIssuer()];
    const { gateway } = await startGatewayOf(first);
    const right = second.provider.keys;
    second.provider.keys = response => response.writeHead(500).end();
    const quick = { key_set: { cooldown: '100ms' }, audience: 'api' };
    const provider = await configPart(gateway, 'identity_provider');
    await changeConfig(gateway, {
      identity_provider: { ...provider, issuer: second.url },
      access_tokens: quick,
    });
    await waitFor('it waits', async () => (await statusOf(gateway)).configuration.waiting?.generation === 2);
    expect((await gateway.ask(head('GET /a', first.bearer()))).status).toBe(200);
    expect(await gateway.admin('/readyz')).toMatchObject({ status: 200 });
    second.provider.keys = right;
    const served = await inTime(gateway.time, serves(gateway, 2));
    expect(served.configuration.waiting).toBeNull();
    expect((await gateway.ask(head('GET /a', second.bearer()))).status).toBe(200);
    expect((await gateway.ask(head('GET /a', first.bearer()))).status).toBe(401);
  });

  it('stay as they are when the change is taken back before that', async () => {
    const first = await startIssuer();
    const { gateway } = await startGatewayOf(first);
    const provider = await configPart(gateway, 'identity_provider');
    await changeConfig(gateway, { identity_provider: { ...provider, issuer: 'http://127.0.0.1:1' } });
    await waitFor('it waits', async () => (await statusOf(gateway)).configuration.waiting !== null);
    await changeConfig(gateway, { identity_provider: provider });
    expect((await serves(gateway, 3)).configuration.waiting).toBeNull();
    expect((await gateway.ask(head('GET /a', first.bearer()))).status).toBe(200);
  });

  it('change to the latest of several that have to be waited for', async () => {
    const [first, second, third] = [await startIssuer(), await startIssuer(), await startIssuer()];
    const { gateway } = await startGatewayOf(first);
    const [rightSecond, rightThird] = [second.provider.keys, third.provider.keys];
    second.provider.keys = response => response.writeHead(500).end();
    third.provider.keys = response => response.writeHead(500).end();
    const provider = await configPart(gateway, 'identity_provider');
    const access_tokens = { key_set: { cooldown: '100ms' }, audience: 'api' };
    for (const [count, { url }] of [second, third].entries()) {
      await changeConfig(gateway, { identity_provider: { ...provider, issuer: url }, access_tokens });
      const waits = async () => (await statusOf(gateway)).configuration.waiting?.generation === 2 + count;
      await waitFor('it waits', waits);
    }
    const fetches = second.provider.keyFetches;
    second.provider.keys = rightSecond;
    third.provider.keys = rightThird;
    await inTime(gateway.time, serves(gateway, 3));
    expect((await gateway.ask(head('GET /a', third.bearer()))).status).toBe(200);
    expect(second.provider.keyFetches - fetches).toBeLessThanOrEqual(1);
  });

  it('sign in with the secret that the file holds now', async () => {
    const issuer = await startIssuer();
    const { gateway } = await startGatewayOf(issuer, { secret: 'first+secret' });
    const provider = await configPart(gateway, 'identity_provider');
    const credentials = () => issuer.provider.tokenRequests.map(({ headers }) => headers.authorization);
    await redeem(gateway, 'code', 'https://app.example/callback');
    await replaceFile(String(provider['client_secret_file']), 'second+secret\n');
    await serves(gateway, 2);
    await redeem(gateway, 'code', 'https://app.example/callback');
    const of = (secret: string) => `Basic ${btoa(`gateway:${encodeURIComponent(secret)}`)}`;
    expect(credentials()).toEqual([of('first+secret'), of('second+secret')]);
    expect((await gateway.admin('/status')).text + gateway.logLines.join('')).not.toContain('second+secret');
  });

  it('do not delay a configuration when the gateway has no keys yet', async () => {
    const issuer = await startIssuer();
    issuer.provider.keys = response => response.writeHead(500).end();
    const { gateway } = await startIdentityGateway({ issuer: issuer.url });
    const provider = await configPart(gateway, 'identity_provider');
    await changeConfig(gateway, { identity_provider: { ...provider, issuer: 'http://127.0.0.1:1' } });
    expect((await serves(gateway, 2)).notReady).toBe("waiting for the issuer's keys");
    const good = await startIssuer();
    await changeConfig(gateway, { identity_provider: { ...provider, issuer: good.url } });
    await gateway.ready();
    expect((await gateway.ask(head('GET /a', good.bearer()))).status).toBe(200);
  });
});

describe('an exchange that is under way', () => {
  it('ends by the configuration that it began with', async () => {
    const issuer = await startIssuer();
    const begun = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const { gateway, upstream } = await startGatewayOf(issuer, {
      upstream: async exchange => {
        begun.resolve();
        await exchange.received();
        await finish.promise;
        await exchange.answer(200, [], exchange.request.body.toString());
      },
      config: { cors: { origins: ['https://app.example'] } },
    });
    const client = await gateway.connect();
    await client.send(withBody('POST /a', 'hello', issuer.bearer(), 'Origin: https://app.example'));
    await begun.promise;
    await changeConfig(gateway, { routes: [], upstreams: {}, cors: 'off' });
    await serves(gateway, 2);
    expect((await gateway.ask(head('GET /a', issuer.bearer()))).status).toBe(404);
    finish.resolve();
    const response = await client.answer({ to: 'POST' });
    expect([response.status, response.body.toString()]).toEqual([200, 'hello']);
    expect(header(response, 'access-control-allow-origin')).toBe('https://app.example');
    await waitFor('its connection is gone', () => upstream.openConnections.length === 0);
  });

  it('is sent where that says, though it had to wait for a key meanwhile', async () => {
    const issuer = await startIssuer();
    const { gateway, upstream } = await startGatewayOf(issuer, {
      tokens: { key_set: { cooldown: '50ms' } },
      upstream: exchange => exchange.answer(200, [], 'old'),
    });
    const moved = await startUpstream(exchange => exchange.answer(200, [], 'new'));
    const next = issuerKey('ES256', 'next');
    const token = signToken(next, issuer.claims());
    const release = Promise.withResolvers<void>();
    issuer.publish(issuer.key, next);
    const good = issuer.provider.keys;
    issuer.provider.keys = (response, socket) => void release.promise.then(() => good(response, socket));
    const fetches = issuer.provider.keyFetches;
    const client = await gateway.connect();
    await waitFor('the key is asked for', async () => {
      if (issuer.provider.keyFetches > fetches) return true;
      // The first ones may come within the cooldown of the first fetch, and are put off.
      gateway.time.advance(60);
      void client.send(head('GET /a', `Authorization: Bearer ${token}`));
      await sleep(20);
      return issuer.provider.keyFetches > fetches;
    });
    await changeConfig(gateway, { upstreams: { api: { url: `http://127.0.0.1:${moved.port}` } } });
    await serves(gateway, 2);
    release.resolve();
    let response = await client.answer();
    while (response.status === 503) response = await client.answer();
    expect([response.status, response.body.toString()]).toEqual([200, 'old']);
    expect((await gateway.ask(head('GET /a', issuer.bearer()))).body.toString()).toBe('new');
    await waitFor('the old connection is closed', () => upstream.openConnections.length === 0);
  });
});
