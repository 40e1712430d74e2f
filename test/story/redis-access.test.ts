import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ADMIN_TOKEN, ApiClient } from '../support/admin-api.ts';
import { makeCertificates } from '../support/certificates.ts';
import { serves } from '../support/edit-config.ts';
import { type ConfigPart, startGateway } from '../support/gateway.ts';
import {
  GATEWAY_RIGHTS,
  MORE_RIGHTS,
  SENTINEL_RIGHTS,
  startRedis,
  startRedisCluster,
} from '../support/redis.ts';
import { decisionsBy, startRedisGateway } from '../support/redis-gateway.ts';
import { expectQuotas, quotaLimits, quotaService } from '../support/redis-quotas.ts';
import { head } from '../support/requests.ts';
import { expectNoSecretIn, secret } from '../support/secrets.ts';
import { tempFolder, tempText } from '../support/temp.ts';
import { startUpstream } from '../support/wire/index.ts';

const limits = {
  global: { address: '9/1h' },
  buckets: { things: { main: 'id', address: '2/1h', resource: '9/1h', concurrent: 5 } },
  routes: { '/things/{id}': 'things' },
  invalid_requests: { limit: '1/60s', restrict_for: '60s' },
};

test('a Redis with TLS, that asks for a certificate, a user and a password, lets the gateway do all it needs', async () => {
  const { ca, server, client } = makeCertificates();
  const folder = await tempFolder();
  const files = {
    'ca.pem': ca,
    'server.pem': server.certificate,
    'server.key': server.key,
    'client.pem': client.certificate,
    'client.key': client.key,
    password: secret('password-of-the-gateway-1234'),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const plain = await startRedis(
    ...['--tls-ca-cert-file', join(folder, 'ca.pem')],
    ...['--tls-cert-file', join(folder, 'server.pem')],
    ...['--tls-key-file', join(folder, 'server.key')],
    ...['--tls-auth-clients', 'yes'],
  );
  onTestFinished(() => plain.close());
  const tlsPort = plain.port + 10_000;
  await plain.client.config('SET', 'tls-port', String(tlsPort));
  await plain.client.call('acl', 'setuser', 'gate', 'on', `>${files.password}`, ...GATEWAY_RIGHTS);
  const store = {
    redis: `rediss://gate@127.0.0.1:${tlsPort}`,
    timeout: '1s',
    password_file: join(folder, 'password'),
    tls: {
      ca_file: join(folder, 'ca.pem'),
      certificate_file: join(folder, 'client.pem'),
      key_file: join(folder, 'client.key'),
    },
  };
  const { port: upstreamPort } = await startUpstream(quotaService);
  await expectQuotas(await startRedisGateway({ store, limits: quotaLimits(), upstreamPort }));
  await plain.client.flushall();
  const gateway = await startRedisGateway({ store, limits });
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await gateway.ask(head('GET /things/1'))).status);
  expect(statuses).toEqual([200, 200, 429]);
  expect(await decisionsBy(gateway, 'redis')).toBe(3);
  // Two refusals are one invalid request too many: what was counted and what came of it goes to Redis as well.
  await gateway.ask(head('GET /things/1'));
  const parts = ['weir:1:invalid_requests:', 'weir:1:{board}:values'];
  await gateway.time.advanceUntil('the counts and the restriction are there', async () => {
    const keys = await plain.client.keys('*');
    return parts.every(part => keys.some(key => key.startsWith(part)));
  });
  expect(await plain.client.call('acl', 'log')).toEqual([]);
});

test('the log reports a wrong password without showing it', async () => {
  const server = await startRedis();
  onTestFinished(() => server.close());
  await server.client.call('acl', 'setuser', 'gate', 'on', '>right-password', '~*', '+@all');
  const wrong = secret('wrong-password-1234');
  const upstream = await startUpstream();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: {
      store: {
        redis: `redis://gate@127.0.0.1:${server.port}`,
        password_file: await tempText('password', wrong),
      },
      log: { level: 'info', access: false },
    },
  });
  expect((await gateway.admin('/readyz')).text).toContain('waiting for Redis');
  const isTold = () => /"cause":"(WRONGPASS|NOAUTH)/.test(gateway.logLines.join(''));
  await gateway.time.advanceUntil('the log tells it', isTold);
  // The gateway waits for it for five seconds; then its own counters decide.
  gateway.time.advance(5_000);
  await gateway.ready();
  expectNoSecretIn('the log', gateway.logLines.join(''));
  expect((await gateway.ask(head('GET /'))).status).toBe(200);
});

test.each([
  ['that is asked without it', 'redis', 'a port for TLS? then write rediss://'],
  [
    'whose certificate nobody vouches for',
    'rediss',
    'name the authority of its certificate in store.tls.ca_file',
  ],
])('the log says what to write for a Redis with TLS %s', async (_, scheme, advice) => {
  const { ca, server: own } = makeCertificates();
  const folder = await tempFolder();
  const files = { 'ca.pem': ca, 'server.pem': own.certificate, 'server.key': own.key };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const server = await startRedis(
    ...['--tls-ca-cert-file', join(folder, 'ca.pem'), '--tls-cert-file', join(folder, 'server.pem')],
    ...['--tls-key-file', join(folder, 'server.key'), '--tls-auth-clients', 'no'],
  );
  onTestFinished(() => server.close());
  await server.client.config('SET', 'tls-port', String(server.port + 10_000));
  const { port: upstreamPort } = await startUpstream();
  const gateway = await startGateway({
    upstreamPort,
    config: {
      store: { redis: `${scheme}://127.0.0.1:${server.port + 10_000}` },
      log: { level: 'info', access: false },
    },
  });
  await gateway.time.advanceUntil('the log tells it', () => gateway.logLines.join('').includes(advice));
});

test('the log names the right that is missing, and says that messages do not arrive', async () => {
  const server = await startRedis();
  onTestFinished(() => server.close());
  const allow = (...rights: string[]) =>
    server.client.call('acl', 'setuser', 'gate', 'on', 'nopass', ...GATEWAY_RIGHTS, ...rights);
  await allow('-subscribe', '-evalsha');
  const store = { redis: `redis://gate@127.0.0.1:${server.port}` };
  const { port } = await startUpstream();
  const gateway = await startGateway({ upstreamPort: port, config: { store, log: { level: 'info' } } });
  const causes = () => gateway.logLines.map(line => JSON.parse(line)).map(({ cause }) => String(cause));
  const names = (command: string) =>
    causes().some(cause => /^NOPERM/.test(cause) && cause.includes(`'${command}'`));
  await gateway.time.advanceUntil('both are named', () => names('subscribe') && names('evalsha'));
  const subscribed = async () => [...(await gateway.metric('weir_store_subscribed')).values()];
  expect(await subscribed()).toEqual([0]);
  await allow();
  await server.client.call('client', 'kill', 'user', 'gate');
  await gateway.time.advanceUntil('messages arrive', async () => (await subscribed()).includes(1));
  expect(gateway.logLines.join('')).toContain('messages of the other gateways arrive through Redis again');
});

/** A gateway whose admin listener may reset counters. */
async function startWith(store: ConfigPart, more: ConfigPart = {}) {
  const token_file = await tempText('admin-token', ADMIN_TOKEN);
  const gateway = await startRedisGateway({
    store,
    limits: { global: 'off', buckets: { a: { address: '3/1h' } }, routes: { '/a': 'a' }, ...more },
    config: { listen: { http: '127.0.0.1:0', admin: { address: '127.0.0.1:0', token_file } } },
  });
  const api = await ApiClient.of(gateway);
  const reset = async () => (await api.call('DELETE', '/api/buckets?address=127.0.0.1&bucket=a')).status;
  return { gateway, reset };
}

test('a user with the listed rights may reset what a client has used; without one of them it is named, and nothing claims to be done', async () => {
  const server = await startRedis();
  onTestFinished(() => server.close());
  const { gateway, reset } = await startWith({ redis: `redis://127.0.0.1:${server.port}`, timeout: '1s' });
  const statusOf = async () => (await gateway.ask(head('GET /a'))).status;
  for (let i = 0; i < 3; i++) await statusOf();
  expect(await statusOf()).toBe(429);
  expect(await reset()).toBe(200);
  expect(await statusOf()).toBe(200);

  await server.client.call('acl', 'setuser', 'default', '-del');
  expect(await reset()).toBe(503);
  expect(gateway.logLines.join('')).toContain('"task":"reset counters"');
  const { gateway: other } = await startWith({ redis: `redis://127.0.0.1:${server.port}`, timeout: '1s' });
  expect(other.logLines.join('')).toContain('"commands":["del"]');
  expect((await other.admin('/status.json')).text).toContain('the Redis user may not del');
});

test('errors of what no request waits for do not count as an outage', async () => {
  const server = await startRedis();
  onTestFinished(() => server.close());
  const store = { redis: `redis://127.0.0.1:${server.port}`, timeout: '1s' };
  const { gateway } = await startWith(store, { buckets: { a: { address: '9/1h', concurrent: 9 } } });
  await server.client.call('acl', 'setuser', 'default', '-zrem');
  for (let i = 0; i < 5; i++) await gateway.ask(head('GET /a'));
  await expect.poll(() => gateway.logLines.join('')).toContain('"task":"end leases"');
  expect(await decisionsBy(gateway, 'redis')).toBe(5);
  expect(gateway.logLines.join('')).not.toContain('Redis is unreachable');
});

test('a cluster needs no more than the listed rights', async () => {
  const cluster = await startRedisCluster();
  onTestFinished(() => cluster.close());
  const nodes = cluster.servers.map(({ port }) => `127.0.0.1:${port}`);
  const store = { redis: `redis://${nodes[0]}`, nodes: nodes.slice(1), mode: 'cluster', timeout: '1s' };
  const gateway = await startRedisGateway({ store, limits });
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await gateway.ask(head('GET /things/1'))).status);
  expect(statuses).toEqual([200, 200, 429]);
  for (const { client } of cluster.servers) await client.flushall();
  const { port: upstreamPort } = await startUpstream(quotaService);
  await expectQuotas(await startRedisGateway({ store, limits: quotaLimits(), upstreamPort }));
  const logs = await Promise.all(cluster.servers.map(({ client }) => client.call('acl', 'log')));
  // All but Redis 7.0 log how ioredis introduces its connection for messages, which goes on.
  const refused = logs
    .flatMap(log => (Array.isArray(log) ? log : []))
    .filter(entry => !/,client(\|setinfo)?,/.test(String(entry)));
  expect(refused).toEqual([]);
});

test.each([
  ['the user lacks the right to select it', '1', ['-select'], 'NOPERM'],
  ['the server does not have it', '99', [], 'DB index is out of range'],
])(
  'a database that cannot be used counts as an outage, and nothing is written elsewhere: %s',
  async (_why, database, rights, cause) => {
    const server = await startRedis();
    onTestFinished(() => server.close());
    await server.client.call('acl', 'setuser', 'default', ...rights);
    const gateway = await startGateway({
      upstreamPort: (await startUpstream()).port,
      config: {
        store: { redis: `redis://127.0.0.1:${server.port}/${database}` },
        log: { level: 'info', access: false },
      },
    });
    await gateway.time.advanceUntil('the log tells it', () => gateway.logLines.join('').includes(cause));
    expect((await gateway.ask(head('GET /'))).status).toBe(200);
    expect((await gateway.admin('/status.json')).text).toContain(cause);
    expect(await server.client.dbsize()).toBe(0);
  },
);

test('a rotated password is used for the next connection, without a restart', async () => {
  const server = await startRedis();
  onTestFinished(() => server.close());
  const [before, after] = [secret('password-before-1234'), secret('password-after-12345')];
  const file = await tempText('password', before);
  const allow = (password: string) =>
    server.client.call('acl', 'setuser', 'gate', 'on', 'resetpass', `>${password}`, ...GATEWAY_RIGHTS);
  await allow(before);
  const gateway = await startRedisGateway({
    store: { redis: `redis://gate@127.0.0.1:${server.port}`, password_file: file, timeout: '1s' },
    limits,
  });
  await allow(after);
  await writeFile(file, after);
  await serves(gateway, 2);
  await server.client.call('client', 'kill', 'user', 'gate');
  await gateway.time.advanceUntil('it is connected again', async () =>
    String(await server.client.call('client', 'list')).includes('user=gate'),
  );
  await gateway.time.advanceUntil('Redis decides', async () => {
    await gateway.ask(head('GET /things/1'));
    return (await decisionsBy(gateway, 'redis')) > 0;
  });
  expect((await gateway.admin('/status.json')).text).toContain(`"pendingRestart": []`);
});

test('the reference of gateway.yaml and the document about Redis list exactly the rights that the gateway needs', async () => {
  const all = [...GATEWAY_RIGHTS.filter(word => word.startsWith('+')), ...Object.values(MORE_RIGHTS).flat()];
  for (const file of ['config/gateway.yaml', 'docs/redis.md']) {
    const text = await readFile(file, 'utf8');
    expect(new Set(text.match(/(?<=[ `])\+[a-z|-]+(?=[ `\n])/g)), file).toEqual(
      new Set([...all, ...SENTINEL_RIGHTS]),
    );
  }
});
