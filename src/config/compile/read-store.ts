import type { RedisOptions, RedisServers } from '../../redis/index.ts';
import { asMap, type ConfigFile, readNamedText } from '../file/index.ts';
import type { StoreModel } from '../model/index.ts';
import { type RedisStoreConfig, redisStoreSchema } from '../schema/index.ts';
import { certificateMistake, keyMistake, secretMistake } from './provider-files.ts';

const SECTION = 'store';

/** What the files hold that `store` names. Undefined: none is named. Null: it cannot be used, which was told. */
interface StoreFiles {
  readonly password: string | null | undefined;
  readonly sentinelPassword: string | null | undefined;
  readonly ca: string | null | undefined;
  readonly certificate: string | null | undefined;
  readonly key: string | null | undefined;
}

/**
 * Reads what `store` of gateway.yaml stands for, and the files that it names. Null when it cannot be used; whatever keeps it
 * from that is among the problems of the file then.
 */
export async function readStore(file: ConfigFile): Promise<StoreModel | null> {
  const raw = asMap(file.value)[SECTION];
  if (raw === undefined || typeof raw !== 'object' || raw === null) return { kind: 'memory' };
  const files = await readFiles(file, raw);
  const { success, data: config } = redisStoreSchema.safeParse(raw);
  if (!success) return null;
  const servers = serversOf(file, config, files);
  checkTls(file, config);
  const password = passwordOf(file, config, files);
  const tls = config.redis.tls ? tlsOf(files) : null;
  if (password === undefined || Object.values(files).includes(null)) return null;
  const options: RedisOptions = {
    servers,
    credentials: { user: config.redis.user, password },
    tls,
    prefix: config.prefix,
    budgetMs: config.timeout,
  };
  return { kind: 'redis', options, policy: config.on_failure, replicas: config.replicas };
}

async function readFiles(file: ConfigFile, raw: object): Promise<StoreFiles> {
  const read = async (keys: readonly string[], check: (text: string) => string | undefined) => {
    const name = keys.reduce<unknown>((value, key) => asMap(value)[key], raw);
    if (name === undefined) return undefined;
    // Not the text that it should be: validation says so.
    if (typeof name !== 'string' || name === '') return null;
    const path = [SECTION, ...keys];
    const text = await readNamedText(file, path, name);
    const mistake = text === null ? undefined : check(text);
    if (mistake !== undefined) file.add(path, mistake);
    return mistake === undefined ? text : null;
  };
  return {
    password: await read(['password_file'], secretMistake),
    sentinelPassword: await read(['sentinel_password_file'], secretMistake),
    ca: await read(['tls', 'ca_file'], certificateMistake),
    certificate: await read(['tls', 'certificate_file'], certificateMistake),
    key: await read(['tls', 'key_file'], keyMistake),
  };
}

function serversOf(file: ConfigFile, config: RedisStoreConfig, files: StoreFiles): RedisServers {
  const { mode, nodes, redis } = config;
  const noUse = (key: string): void =>
    file.add([SECTION, key], `"${key}" has no use with mode: ${mode}`, { about: 'key' });
  if (mode === 'single' && nodes.length > 0) noUse('nodes');
  if (mode !== 'sentinel')
    for (const key of ['sentinel_user', 'sentinel_password_file'] as const)
      if (config[key] !== undefined) noUse(key);
  if (mode === 'sentinel' && nodes.length === 0)
    file.add([SECTION], 'missing key "nodes": mode: sentinel needs the sentinels');
  if (mode === 'cluster' && redis.database !== 0)
    file.add([SECTION, 'redis'], 'a Redis Cluster has no database but 0: leave it out');
  const { address, database } = redis;
  if (mode === 'single') return { kind: 'standalone', address, database };
  if (mode === 'cluster') return { kind: 'cluster', nodes: [address, ...nodes] };
  const credentials = { user: config.sentinel_user ?? null, password: files.sentinelPassword ?? null };
  return { kind: 'sentinel', sentinels: nodes, master: address.host, database, credentials };
}

function tlsOf({ ca, certificate, key }: StoreFiles): RedisOptions['tls'] {
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
    file.add([SECTION, 'tls', key], `"${key}" has no use without TLS: write rediss://`, { about: 'key' });
  }
  for (const [one, other] of [
    ['certificate_file', 'key_file'],
    ['key_file', 'certificate_file'],
  ] as const) {
    if (tls[one] === undefined || tls[other] !== undefined) continue;
    file.add([SECTION, 'tls', one], `needs "${other}" beside it`);
  }
}

/** Undefined: it cannot be used, which was told. */
function passwordOf(
  file: ConfigFile,
  { password: variable, password_file }: RedisStoreConfig,
  files: StoreFiles,
): string | null | undefined {
  if (variable === undefined) return files.password === null ? undefined : (files.password ?? null);
  if (password_file !== undefined) {
    const message = '"password" is there as well: leave out one of the two';
    file.add([SECTION, 'password_file'], message, { about: 'key' });
  }
  const password = variable.replace(/[\r\n]+$/, '');
  const mistake = secretMistake(password);
  if (mistake !== undefined) file.add([SECTION, 'password'], mistake);
  return mistake === undefined ? password : undefined;
}
