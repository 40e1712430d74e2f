import type { Clock } from '../../../core/index.ts';
import type { RedisOptions, RedisServers } from '../../../redis/index.ts';
import { asMap, type ConfigFile } from '../../file/index.ts';
import type { StoreModel } from '../../model/index.ts';
import { type RedisStoreConfig, redisStoreSchema } from '../../schema/index.ts';
import { chooseSecret, SecretFiles, type TlsFiles } from './secret-files.ts';

const SECTION = 'store';

/**
 * Reads `store` of gateway.yaml and the files it names. Returns null, after adding diagnostics to the file, if it cannot be
 * used.
 */
export async function readStore(file: ConfigFile, clock: Clock): Promise<StoreModel | null> {
  const raw = asMap(file.value)[SECTION];
  if (raw === undefined || typeof raw !== 'object' || raw === null) return { kind: 'memory' };
  const files = new SecretFiles(file, [SECTION], clock);
  const passwordInFile = await files.secret('password_file');
  const sentinelPassword = await files.secret('sentinel_password_file');
  const tlsFiles = await files.tls();
  const { success, data: config } = redisStoreSchema.safeParse(raw);
  if (!success) return null;
  const servers = serversOf(file, config, sentinelPassword ?? null);
  checkTls(file, config);
  const given = { variable: config.password, fromFile: passwordInFile };
  const password = chooseSecret(file, [SECTION, 'password'], given);
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

function serversOf(
  file: ConfigFile,
  config: RedisStoreConfig,
  sentinelPassword: string | null,
): RedisServers {
  const { mode, nodes, redis } = config;
  const noUse = (key: string): void =>
    file.add([SECTION, key], `"${key}" has no effect with mode: ${mode}`, { about: 'key' });
  if (mode === 'single' && nodes.length > 0) noUse('nodes');
  if (mode !== 'sentinel')
    for (const key of ['sentinel_user', 'sentinel_password_file'] as const)
      if (config[key] !== undefined) noUse(key);
  if (mode === 'sentinel' && nodes.length === 0)
    file.add([SECTION], 'missing key "nodes": mode: sentinel needs the sentinels');
  if (mode === 'cluster' && redis.database !== 0)
    file.add([SECTION, 'redis'], 'a Redis Cluster has only database 0: leave it out');
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

function checkTls(file: ConfigFile, { redis, tls }: RedisStoreConfig): void {
  const keys = ['ca_file', 'certificate_file', 'key_file'] as const;
  for (const key of keys) {
    if (redis.tls || tls[key] === undefined) continue;
    file.add([SECTION, 'tls', key], `"${key}" has no effect without TLS: write rediss://`, { about: 'key' });
  }
}
