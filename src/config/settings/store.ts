import { z } from 'zod';
import { type Clock, FAILURE_POLICIES, type FailurePolicy, formatHostPort } from '../../core/index.ts';
import type { RedisOptions, RedisServers } from '../../limits/redis/index.ts';
import { asMap, type ConfigFile, Section } from '../file/index.ts';
import {
  choice,
  count,
  duration,
  type HostPort,
  list,
  optionalFile,
  parseHostPort,
  refuse,
  secret,
  section,
  text,
  unshown,
  word,
} from '../values/index.ts';
import { chooseSecret, clientTlsKeys, SecretFiles, type TlsFiles } from './secret-files.ts';
import { setting } from './setting.ts';

/** `redis://weir@redis.internal:6379/0`, parsed. */
export interface RedisUrl {
  readonly tls: boolean;
  readonly user: string | null;
  readonly address: HostPort;
  readonly database: number;
}

const REDIS_PORT = 6_379;

/** Never shown in messages: it may contain a password by mistake. */
function redisUrl() {
  const error = 'write an address such as redis://redis.internal:6379 or rediss://weir@redis.internal:6379/0';
  return unshown(z.string({ error })).transform((url, context): RedisUrl => {
    const match = /^(rediss?):\/\/(?:([^@/?#]*)@)?([^@/?#]+)(?:\/(\d{1,3})?)?$/.exec(url);
    const address = match === null ? undefined : parseHostPort(match[3] ?? '', REDIS_PORT);
    const user = decode(match?.[2] ?? '');
    if (address === undefined || address.port === 0 || user === null) return refuse(context, error);
    if (match?.[2]?.includes(':') === true)
      return refuse(
        context,
        'an address must not contain a password: remove the ":" and the password before the "@", and use password_file',
      );
    return {
      tls: match?.[1] === 'rediss',
      user: user === '' ? null : user,
      address,
      database: Number(match?.[4] ?? 0),
    };
  });
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function node() {
  const error = 'expected host:port such as redis-1.internal:6379';
  return z.string({ error }).transform((text, context) => {
    const place = parseHostPort(text);
    return place !== undefined && place.port > 0 ? place : refuse(context, error);
  });
}

/** A Redis shared by all gateways. `readStore` checks how the keys fit together. */
const redisSchema = z.strictObject({
  redis: redisUrl().describe(
    'The address of Redis: redis://user@host:port/database, or rediss:// for TLS. Defaults: port 6379, database 0, the default user.',
  ),
  mode: choice(['single', 'sentinel', 'cluster']).describe(
    'single: one server. sentinel: the host in redis is the name of a master, which the sentinels under nodes locate. cluster: a Redis Cluster, discovered from the host in redis and the nodes.',
  ),
  nodes: list(node(), 'expected a list of host:port such as [redis-1.internal:26379]').describe(
    'The sentinels, or additional nodes of the cluster, as host:port.',
  ),
  password: secret('password')
    .optional()
    .describe(`An environment variable that contains the password, "\${REDIS_PASSWORD}".`),
  password_file: optionalFile().describe(
    'Instead of password: a file that contains it. Relative to this file.',
  ),
  sentinel_user: text('expected the name of a user')
    .optional()
    .describe('The user for the sentinels. Left out: the default user.'),
  sentinel_password_file: optionalFile().describe(
    'A file with the password for the sentinels. Relative to this file.',
  ),
  tls: section('PEM files for rediss://, relative to this file.', clientTlsKeys('a Redis')),
  prefix: z
    .string({ error: 'expected text such as "weir:"' })
    .regex(/^[A-Za-z0-9._:/-]{0,64}$/, {
      error: 'expected up to 64 letters, digits and any of ".", "_", ":", "/" and "-"',
    })
    .prefault('weir:')
    .describe(
      'The prefix of every key and channel in Redis. Gateways with the same prefix share their limits.',
    ),
  timeout: duration({ min: '5ms', max: '1s', otherwise: '50ms' }).describe(
    'Timeout of one decision; then on_failure applies. Redis counts as unavailable when replies are late for four times as long.',
  ),
  on_failure: word(FAILURE_POLICIES)
    .prefault('local')
    .describe(
      'What decides while Redis is unavailable. local: each gateway alone, with every quota divided by the number of gateways. open: every request passes. closed: every request that has a limit gets 503, and the gateway is not ready.',
    ),
  replicas: count(10_000, 1).describe(
    'The assumed number of gateways until they have counted each other in Redis.',
  ),
});

type RedisConfig = z.output<typeof redisSchema>;

export const store = setting({
  keys: {
    store: z
      .union([z.literal('memory'), redisSchema], {
        error: 'expected memory, or a map such as { redis: "rediss://weir@redis.internal:6379" }',
      })
      .prefault('memory')
      .describe(
        'Where limits are counted. memory: in each gateway alone. A map: in Redis, for all gateways together. Changes take effect after a restart.',
      ),
  },
  read: async (file, clock) => ({ store: await readStore(file, clock) }),
  withoutSecrets: () => ({ store: { kind: 'memory' } as const }),
  compile(_, __, { store }): { readonly store: StoreModel } {
    if (store === null) throw new Error('the store was not checked');
    return { store };
  },
  needsRestart: [
    {
      key: 'store',
      value: ({ store }) => fixedPartOfStore(store),
      written: ({ store }) => storeInWords(store),
    },
  ],
});

/** Where limits are counted: in each gateway, or in a Redis for all of them. */
export type StoreModel =
  | { readonly kind: 'memory' }
  | {
      readonly kind: 'redis';
      readonly options: RedisOptions;
      /** What happens while Redis is unavailable. */
      readonly policy: FailurePolicy;
      /** The assumed number of gateways until they have counted each other. */
      readonly replicas: number;
    };

/** What of `store` a running gateway cannot change: all but credentials and certificates. */
export function fixedPartOfStore(store: StoreModel): unknown {
  if (store.kind === 'memory') return store;
  const { servers, credentials: _, tls, ...options } = store.options;
  const { credentials: _ofSentinels, ...places } =
    servers.kind === 'sentinel' ? servers : { ...servers, credentials: null };
  return { ...store, options: { ...options, servers: places, hasTls: tls !== null } };
}

function storeInWords(store: StoreModel): string {
  if (store.kind === 'memory') return 'memory';
  const { servers } = store.options;
  const nodes =
    servers.kind === 'standalone'
      ? [servers.address]
      : servers.kind === 'sentinel'
        ? servers.sentinels
        : servers.nodes;
  return `redis ${nodes.map(formatHostPort).join(', ')} (${servers.kind}), on_failure: ${store.policy}`;
}

/** Reads `store` and the files it names. Returns null if something is unusable, which is reported. */
async function readStore(file: ConfigFile, clock: Clock): Promise<StoreModel | null> {
  const raw = asMap(file.value).store;
  if (raw === undefined || typeof raw !== 'object' || raw === null) return { kind: 'memory' };
  const files = new SecretFiles(new Section(file, ['store'], raw), clock);
  const passwordInFile = await files.read('secret', 'password_file');
  const sentinelPassword = await files.read('secret', 'sentinel_password_file');
  const tlsFiles = await files.tls();
  const { success, data: config } = redisSchema.safeParse(raw);
  if (!success) return null;
  const servers = serversOf(file, config, sentinelPassword ?? null);
  checkTls(file, config);
  const given = { variable: config.password, fromFile: passwordInFile };
  const password = chooseSecret(file, ['store', 'password'], given);
  const tls = config.redis.tls ? tlsOf(tlsFiles) : null;
  if ([password, passwordInFile, sentinelPassword, ...Object.values(tlsFiles)].includes(null)) return null;
  const options: RedisOptions = {
    servers,
    credentials: { user: config.redis.user, password: password ?? null },
    tls,
    prefix: config.prefix,
    budgetMs: config.timeout,
  };
  return { kind: 'redis', options, policy: config.on_failure, replicas: config.replicas };
}

function serversOf(file: ConfigFile, config: RedisConfig, sentinelPassword: string | null): RedisServers {
  const { mode, nodes, redis } = config;
  const noUse = (key: string): void => file.addUseless(['store', key], `with mode: ${mode}`);
  if (mode === 'single' && nodes.length > 0) noUse('nodes');
  if (mode !== 'sentinel')
    for (const key of ['sentinel_user', 'sentinel_password_file'] as const)
      if (config[key] !== undefined) noUse(key);
  if (mode === 'sentinel' && nodes.length === 0)
    file.add(['store'], 'missing key "nodes": mode: sentinel needs the sentinels');
  if (mode === 'cluster' && redis.database !== 0)
    file.add(['store', 'redis'], 'a Redis Cluster has only database 0: leave it out');
  const { address, database } = redis;
  if (mode === 'single') return { kind: 'standalone', address, database };
  if (mode === 'cluster') return { kind: 'cluster', nodes: [address, ...nodes] };
  const credentials = { user: config.sentinel_user ?? null, password: sentinelPassword };
  return { kind: 'sentinel', sentinels: nodes, master: address.host, database, credentials };
}

function tlsOf({ ca, certificate, key }: TlsFiles): RedisOptions['tls'] {
  return {
    ...(typeof ca === 'string' && { ca }),
    ...(typeof certificate === 'string' && { cert: certificate }),
    ...(typeof key === 'string' && { key }),
  };
}

function checkTls(file: ConfigFile, { redis, tls }: RedisConfig): void {
  for (const key of ['ca_file', 'certificate_file', 'key_file'] as const)
    if (!redis.tls && tls[key] !== undefined)
      file.addUseless(['store', 'tls', key], 'without TLS: write rediss://');
}
