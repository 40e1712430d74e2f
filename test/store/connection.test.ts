import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { Replicas } from '../../src/limits/redis/connection/index.ts';
import { RedisConnection, type RedisError } from '../../src/limits/redis/index.ts';
import { makeCertificates } from '../support/certificates.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

let server: RedisServer;
let clock: FrozenClock;
beforeEach(async () => {
  clock = new FrozenClock();
  server = await startRedis();
  // Its commands are the test's own.
  await server.client.call('acl', 'setuser', 'default', '~*', '&*', '+@all');
});
afterEach(() => server.close());

function connectTo({ port }: { port: number }, budgetMs: number, tls: object | null = null): RedisConnection {
  const connection = new RedisConnection(
    {
      servers: { kind: 'standalone', address: { host: '127.0.0.1', port }, database: 0 },
      credentials: { user: null, password: null },
      tls,
      prefix: 'weir:c:',
      budgetMs,
    },
    { clock },
  );
  onTestFinished(() => connection.stop());
  connection.start();
  return connection;
}

async function connected(budgetMs = 100): Promise<RedisConnection> {
  const connection = connectTo(server, budgetMs);
  await waitFor('it is ready', () => connection.isReady);
  return connection;
}

const failureOf = (command: Promise<unknown>): Promise<string> =>
  command.then(
    () => 'none',
    (error: RedisError) => error.failure,
  );

test('a command that is late fails in time, and one pause costs no connection', async () => {
  const connection = await connected();
  const states: boolean[] = [];
  connection.onState(ready => states.push(ready));
  for (let pause = 0; pause < 3; pause++) {
    server.freeze();
    const commands = Array.from({ length: 9 }, () => failureOf(connection.command('incr', 'late')));
    clock.advance(100);
    expect(new Set(await Promise.all(commands))).toEqual(new Set(['timeout']));
    expect(connection.isLate).not.toBe('silent');
    server.thaw();
    expect(await failureOf(connection.command('ping'))).toBe('none');
  }
  expect(states).toEqual([]);
});

test('replies that stay late cost the connection, so that nothing waits behind them', async () => {
  const connection = await connected();
  const states: boolean[] = [];
  connection.onState(ready => states.push(ready));
  server.freeze();
  let silent = false;
  await clock.advanceUntil('the connection is gone', () => {
    connection.send('incr', ['late'], () => {
      silent ||= connection.isLate === 'silent';
    });
    return states.includes(false);
  });
  expect(silent).toBe(true);
  expect(await failureOf(connection.command('ping'))).toBe('disconnected');
  server.thaw();
  await waitFor('it is ready again', () => connection.isReady);
  await waitFor('it replies', async () => (await failureOf(connection.command('ping'))) === 'none');
});

test('what the server refuses fails with its reason, without what it quotes, and costs nothing', async () => {
  const connection = await connected();
  const error = await connection
    .command('set', 'key', 'value', 'NONSENSE')
    .catch((cause: RedisError) => cause);
  expect(error).toMatchObject({ failure: 'error', message: 'ERR syntax error' });
  expect(connection.isReady).toBe(true);
  const unknown = await connection.command('nonsense', 'secret').catch((cause: RedisError) => cause);
  // Redis 6.2 quotes it by `.
  expect(String(unknown)).toMatch(/unknown command ['`]nonsense['`]/);
  expect(String(unknown)).not.toContain('secret');
});

test('what Redis does not permit is named by its command, and by nothing else', async () => {
  const connection = await connected();
  await server.client.call('acl', 'setuser', 'default', '-set', 'resetkeys', '~open');
  const refusal = (...words: [string, ...string[]]) =>
    connection.command(...words).catch((cause: RedisError) => cause.message);
  expect(await refusal('set', 'open', 'value')).toMatch(/^NOPERM .* the 'set' command/);
  const key = await refusal('get', "the 'secret' command");
  expect(key).toMatch(/^NOPERM/);
  expect(key).not.toContain('secret');
});

test('a command while there is no connection fails at once and is not kept for later', async () => {
  const connection = await connected();
  await server.kill();
  await waitFor('the connection is gone', () => !connection.isReady);
  expect(await failureOf(connection.command('set', 'weir:c:key', 'value'))).toBe('disconnected');
  await waitFor('it tells why', () => connection.lastError.includes('ECONNREFUSED'));
  await server.start();
  await waitFor('it is ready again', () => connection.isReady);
  expect(await connection.command('get', 'weir:c:key')).toBeNull();
});

test('a heartbeat fails while memory is full, as decisions do, so that no gateway takes Redis for usable', async () => {
  const replicas = new Replicas(await connected(), { clock, id: 'one', hint: 1 });
  await replicas.beat();
  await server.client.config('SET', 'maxmemory', '1');
  expect(await replicas.beat().catch((error: RedisError) => error.message)).toMatch(/\bOOM /);
  await server.client.config('SET', 'maxmemory', '0');
  await replicas.beat();
});

test('commands of one turn keep their order and their responses', async () => {
  const connection = await connected();
  const responses = await Promise.all(
    Array.from({ length: 100 }, () => connection.command('incr', 'weir:c:n')),
  );
  expect(responses).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
});

test('messages come to subscribers, who are told whenever the subscription is in force', async () => {
  const [one, two] = [await connected(), await connected()];
  const heard: string[] = [];
  let inForce = 0;
  one.subscribe('news', {
    message: text => heard.push(text),
    ready: () => inForce++,
    refused: () => {},
  });
  await waitFor('the subscription is in force', () => inForce === 1);
  await two.command('publish', `${two.prefix}news`, 'first');
  await waitFor('it is heard', () => heard.length === 1);
  await server.kill();
  // Without this, one may be connected again before the other knows that its connection is dead.
  await waitFor('the other noticed it', () => !two.isReady);
  await server.start();
  await waitFor('the subscription is in force again', () => inForce === 2);
  await waitFor('the other is ready again', () => two.isReady);
  await two.command('publish', `${two.prefix}news`, 'second');
  await waitFor('it is heard', () => heard.length === 2);
  expect(heard).toEqual(['first', 'second']);
});

test('a connection to Redis with TLS that is closed during its handshake may fail twice, and the process lives', async () => {
  const folder = await tempFolder();
  const { server: own } = makeCertificates();
  const [certificate, key] = [join(folder, 'server.pem'), join(folder, 'server.key')];
  await writeFile(certificate, own.certificate);
  await writeFile(key, own.key);
  const redis = await startRedis(
    '--tls-cert-file',
    certificate,
    '--tls-key-file',
    key,
    '--tls-auth-clients',
    'no',
  );
  onTestFinished(() => redis.close());
  const tlsPort = redis.port + 10_000;
  await redis.client.config('SET', 'tls-port', String(tlsPort));
  // All that Redis says comes at once, when the client has ended its side: a certificate of nobody, and an alert.
  const relay = createServer({ allowHalfOpen: true }, client => {
    const behind = connect({ port: tlsPort, host: '127.0.0.1', allowHalfOpen: true });
    const parts: Uint8Array[] = [];
    behind
      .on('data', (part: Uint8Array) => parts.push(part))
      .on('end', () => client.end(Buffer.concat(parts)));
    client.once('data', () => connection.stop());
    client.on('error', () => {}).pipe(behind.on('error', () => {}));
  });
  onTestFinished(() => void relay.close());
  await once(relay.listen(0, '127.0.0.1'), 'listening');
  const { port } = relay.address() as AddressInfo;
  const connection = connectTo({ port }, 100, {});
  const [client] = await once(relay, 'connection');
  // An error without a listener fails the run.
  await once(client, 'close');
});
