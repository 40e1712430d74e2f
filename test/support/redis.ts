import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { RIGHTS } from '../../src/limits/redis/connection/rights.ts';
import { freePort } from './free-port.ts';
import { sleep, waitFor } from './wait.ts';

/** What the reference of gateway.yaml says that the gateway may do in Redis, and no more. */
export const GATEWAY_RIGHTS = [
  'resetchannels',
  '~weir:*',
  '&weir:*',
  '-@all',
  ...RIGHTS.map(name => `+${name}`),
];
/** The additional rights of some modes, by what needs them. */
export const MORE_RIGHTS = { database: ['+select'], cluster: ['+cluster|slots', '+asking', '+info'] };

/** Tests themselves may do everything. */
const TESTER = 'tests';
const USERS = [
  ...['--user', 'default', 'on', 'nopass', ...GATEWAY_RIGHTS, ...MORE_RIGHTS.database],
  ...['--user', TESTER, 'on', `>${TESTER}`, '~*', '&*', '+@all'],
  ...['--masteruser', TESTER, '--masterauth', TESTER],
];

/** A redis-server of a test's own, without persistence, on 127.0.0.1. A client that says no name has the rights of a gateway. */
export class RedisServer {
  readonly port: number;
  readonly folder: string;
  readonly #args: readonly string[];
  readonly #env: NodeJS.ProcessEnv;
  #process: ChildProcess | null = null;
  #client: Redis | null = null;

  constructor(port: number, folder: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env) {
    this.port = port;
    this.folder = folder;
    this.#args = args;
    this.#env = env;
  }

  /** A client for the test itself, which waits patiently. */
  get client(): Redis {
    this.#client ??= makePatientClient(this.port);
    return this.#client;
  }

  async start(): Promise<void> {
    const child = spawn('redis-server', [...this.#args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: this.#env,
    });
    this.#process = child;
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', text => (output += String(text)));
    await waitFor(`redis-server answers on ${this.port}`, async () => {
      if (child.exitCode !== null) throw new Error(`redis-server ended: ${output}`);
      return responsesPing(this.port);
    });
  }

  /** As a machine that loses its power. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  /** Keeps its connections but no longer answers. */
  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  async close(): Promise<void> {
    this.#client?.disconnect();
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Starts a server with further options, `--name value`. The caller must close it. */
export function startRedis(...options: readonly string[]): Promise<RedisServer> {
  return startRedisWith(process.env, ...options);
}

/** Starts a server in an environment of its own. The caller must close it. */
export async function startRedisWith(
  env: NodeJS.ProcessEnv,
  ...options: readonly string[]
): Promise<RedisServer> {
  const port = await freePort(BUS_OFFSET);
  const folder = await mkdtemp(join(tmpdir(), 'weir-redis-'));
  const own = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  const server = new RedisServer(port, folder, [...own, ...USERS, ...options], env);
  await server.start();
  return server;
}

/** A Redis Cluster of three masters, each with a third of the slots. */
export class RedisCluster {
  readonly servers: readonly RedisServer[];
  readonly replicas: RedisServer[] = [];

  constructor(servers: readonly RedisServer[]) {
    this.servers = servers;
  }

  /** Adds a replica of the first master, which takes its place if that fails. */
  async addReplica(): Promise<RedisServer> {
    const [first] = this.servers;
    const replica = await startRedis(...CLUSTER_OPTIONS);
    await replica.client.call('acl', 'setuser', 'default', ...MORE_RIGHTS.cluster);
    this.replicas.push(replica);
    await replica.client.call('cluster', 'meet', '127.0.0.1', first?.port ?? 0);
    const id = String(await first?.client.call('cluster', 'myid'));
    // Refused until it knows the master.
    await waitFor('it replicates', () =>
      replica.client.call('cluster', 'replicate', id).then(
        () => true,
        () => false,
      ),
    );
    await waitFor('it follows', async () =>
      (await replica.client.info('replication')).includes('master_link_status:up'),
    );
    return replica;
  }

  async close(): Promise<void> {
    await Promise.all([...this.servers, ...this.replicas].map(server => server.close()));
  }
}

const CLUSTER_OPTIONS = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1000'];
/** What the gateway may do at a sentinel. */
export const SENTINEL_RIGHTS = ['+sentinel|get-master-addr-by-name', '+sentinel|sentinels'];
const SLOTS = 16_384;

export async function startRedisCluster(nodes = 3): Promise<RedisCluster> {
  const servers: RedisServer[] = [];
  for (let i = 0; i < nodes; i++) servers.push(await startRedis(...CLUSTER_OPTIONS));
  for (const { client } of servers) await client.call('acl', 'setuser', 'default', ...MORE_RIGHTS.cluster);
  const [first] = servers;
  for (const [i, { client }] of servers.entries()) {
    const [from, to] = [Math.ceil((i * SLOTS) / nodes), Math.ceil(((i + 1) * SLOTS) / nodes)];
    const slots = Array.from({ length: to - from }, (_, at) => from + at);
    await client.call('cluster', 'addslots', ...slots);
    if (first !== undefined) await client.call('cluster', 'meet', '127.0.0.1', first.port);
  }
  await waitFor('the cluster is whole', async () => {
    const infos = await Promise.all(servers.map(({ client }) => client.call('cluster', 'info')));
    return infos.every(
      info =>
        String(info).includes(`cluster_state:ok`) && String(info).includes(`cluster_known_nodes:${nodes}`),
    );
  });
  return new RedisCluster(servers);
}

/** A master with a replica, and three sentinels that watch them under the name `weir-test`. */
export class SentinelSet {
  readonly servers: readonly RedisServer[];
  readonly sentinels: readonly RedisServer[];

  constructor(servers: readonly RedisServer[], sentinels: readonly RedisServer[]) {
    this.servers = servers;
    this.sentinels = sentinels;
  }

  /** Port of the master that the sentinels agree on. */
  async masterPort(): Promise<number> {
    const ports = await Promise.all(
      this.sentinels.map(async ({ client }) => {
        const address = await client.call('sentinel', 'get-master-addr-by-name', SENTINEL_NAME);
        return Number(Array.isArray(address) ? address[1] : 0);
      }),
    );
    const [first = 0] = ports;
    return ports.every(port => port === first) ? first : 0;
  }

  async close(): Promise<void> {
    await Promise.all([...this.sentinels, ...this.servers].map(server => server.close()));
  }
}

export const SENTINEL_NAME = 'weir-test';

export async function startSentinelSet(): Promise<SentinelSet> {
  const master = await startRedis();
  const replica = await startRedis(
    '--replicaof',
    `127.0.0.1 ${master.port}`,
    '--repl-diskless-sync-delay',
    '0',
  );
  await waitFor('the replica follows', async () =>
    (await replica.client.info('replication')).includes('master_link_status:up'),
  );
  const sentinels: RedisServer[] = [];
  for (let i = 0; i < 3; i++) sentinels.push(await startSentinel(master.port));
  await waitFor('the sentinels know each other and the replica', async () => {
    const infos = await Promise.all(sentinels.map(({ client }) => client.info('sentinel')));
    return infos.every(info => /slaves=1,sentinels=3/.test(info));
  });
  return new SentinelSet([master, replica], sentinels);
}

async function startSentinel(masterPort: number): Promise<RedisServer> {
  const port = await freePort(BUS_OFFSET);
  const folder = await mkdtemp(join(tmpdir(), 'weir-redis-'));
  const file = join(folder, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor ${SENTINEL_NAME} 127.0.0.1 ${masterPort} 2`,
    `sentinel down-after-milliseconds ${SENTINEL_NAME} 500`,
    `sentinel failover-timeout ${SENTINEL_NAME} 3000`,
    `sentinel auth-user ${SENTINEL_NAME} ${TESTER}`,
    `sentinel auth-pass ${SENTINEL_NAME} ${TESTER}`,
    `user default on nopass -@all +client|setname ${SENTINEL_RIGHTS.join(' ')}`,
    `user ${TESTER} on >${TESTER} ~* &* +@all`,
    `sentinel sentinel-user ${TESTER}`,
    `sentinel sentinel-pass ${TESTER}`,
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const sentinel = new RedisServer(port, folder, [file, '--sentinel']);
  await sentinel.start();
  return sentinel;
}

function makePatientClient(port: number): Redis {
  const as = { username: TESTER, password: TESTER };
  const client = new Redis({ port, host: '127.0.0.1', ...as, maxRetriesPerRequest: null });
  client.on('error', () => {});
  return client;
}

async function responsesPing(port: number): Promise<boolean> {
  const client = new Redis({
    ...{ port, host: '127.0.0.1', username: TESTER, password: TESTER },
    lazyConnect: true,
    retryStrategy: () => null,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.ping();
    return true;
  } catch {
    await sleep(20);
    return false;
  } finally {
    client.disconnect();
  }
}

/** A server of a cluster takes a second port, so far above the first. */
const BUS_OFFSET = 10_000;
