import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeCertificates } from '../support/certificates.ts';
import { startGateway } from '../support/gateway.ts';
import { startRedis } from '../support/redis.ts';
import { decisionsBy, startRedisGateway } from '../support/redis-gateway.ts';
import { head } from '../support/requests.ts';
import { expectNoSecretIn, secret } from '../support/secrets.ts';
import { tempFolder, tempText } from '../support/temp.ts';
import { startUpstream } from '../support/wire/index.ts';

/** What the reference of gateway.yaml says that the gateway needs, and no more. */
const RIGHTS =
  '~weir:* &weir:* -@all +@connection +eval +evalsha +get +set +del +incrby +@sortedset +pttl +pexpire +time +publish +subscribe';
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
  await plain.client.call('acl', 'setuser', 'gate', 'on', `>${files.password}`, ...RIGHTS.split(' '));
  const gateway = await startRedisGateway({
    store: {
      redis: `rediss://gate@127.0.0.1:${tlsPort}`,
      timeout: '1s',
      password_file: join(folder, 'password'),
      tls: {
        ca_file: join(folder, 'ca.pem'),
        certificate_file: join(folder, 'client.pem'),
        key_file: join(folder, 'client.key'),
      },
    },
    limits,
  });
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

test('the log names the right that is missing, and says that messages do not arrive', async () => {
  const server = await startRedis();
  onTestFinished(() => server.close());
  const allow = (...rights: string[]) =>
    server.client.call('acl', 'setuser', 'gate', 'on', 'nopass', ...RIGHTS.split(' '), ...rights);
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
