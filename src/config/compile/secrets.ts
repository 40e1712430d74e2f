import { createHash } from 'node:crypto';
import type { Clock } from '../../core/index.ts';
import type { ClientAuthentication } from '../../identity/signin/index.ts';
import type { RedisOptions, RedisServers } from '../../limits/redis/index.ts';
import { asMap, type ConfigFile, type Path, readNamedText } from '../file/index.ts';
import type { StoreModel } from '../model/index.ts';
import type { GatewayConfig, IdentityProviderConfig, RedisStoreConfig } from '../schema/index.ts';
import { redisStoreSchema } from '../schema/index.ts';
import { type ProviderConfigOptions, providerWithoutSecrets, readProviders } from './read-provider.ts';
import { type ListenerTls, readListenerTls, readUpstreamTls } from './read-tls.ts';
import { chooseSecret, SecretFiles, type TlsFiles } from './secret-files.ts';

/** The parts of gateway.yaml with secrets, keys or certificates. */
export interface SecretParts {
  readonly listenerTls: ListenerTls;
  /** The files that upstreams name under `tls`. */
  readonly upstreamTls: ReadonlyMap<string, TlsFiles>;
  /** The providers in the order of the file; empty if none is configured. */
  readonly providers: readonly ProviderConfigOptions[];
  /** The key for pseudonyms; `null` if none is configured. */
  readonly pseudonymKey: Buffer | null;
  /** SHA-256 of the admin API's token; `null` if none is configured. */
  readonly adminTokenHash: Buffer | null;
  /** `null` if unusable, which was reported. */
  readonly store: StoreModel | null;
}

/** Reads secrets, keys and certificates, and reports what is wrong with each. */
export async function readSecrets(file: ConfigFile, clock: Clock): Promise<SecretParts> {
  return {
    listenerTls: await readListenerTls(file, clock),
    upstreamTls: await readUpstreamTls(file, clock),
    providers: await readProviders(file, clock),
    pseudonymKey: await readPseudonymKey(file),
    adminTokenHash: await readAdminToken(file),
    store: await readStore(file, clock),
  };
}

/**
 * Replaces the secrets if a command only inspects the configuration: the providers as written, without any file.
 *
 * @param authenticationOf how the gateway authenticates at a provider
 */
export function withoutSecrets(
  gateway: GatewayConfig,
  authenticationOf: (config: IdentityProviderConfig) => ClientAuthentication,
): SecretParts & { readonly store: StoreModel } {
  const { identity_provider: one, identity_providers: several = [] } = gateway;
  return {
    listenerTls: { http: null, grpc: null, admin: null },
    upstreamTls: new Map(),
    providers: [...(one === undefined ? [] : [one]), ...several].map(config =>
      providerWithoutSecrets(config, authenticationOf(config)),
    ),
    pseudonymKey: null,
    adminTokenHash: null,
    store: { kind: 'memory' },
  };
}

const PATH = ['listen', 'admin', 'token_file'];

/**
 * Reads the admin API's token from the file that `listen.admin.token_file` names. Returns its SHA-256, which is enough for a
 * comparison; `null` if none is named, or if it is unusable, which was reported.
 */
async function readAdminToken(file: ConfigFile): Promise<Buffer | null> {
  const token = await readKeyFile(file, PATH, 'token');
  if (token === null) return null;
  // RFC 6750, 2.1: the text that a client can send after "Bearer".
  if (/^[A-Za-z0-9._~+/-]+=*$/.test(token)) return createHash('sha256').update(token).digest();
  file.add(
    PATH,
    'the token must be one line of letters, digits and "-._~+/", and may end with "=": generate one with "openssl rand -base64 32"',
    { isContent: true },
  );
  return null;
}

/**
 * Reads the key from the file that `log.pseudonym_key_file` names; a guessed key would reveal the callers behind the pseudonyms.
 * Returns `null` if none is named, or if it is unusable, which was reported.
 */
export async function readPseudonymKey(file: ConfigFile): Promise<Buffer | null> {
  const text = await readKeyFile(file, ['log', 'pseudonym_key_file'], 'key');
  return text === null ? null : Buffer.from(text);
}

const MIN_CHARACTERS = 32;

/**
 * Reads an unguessable secret from the file that a key of gateway.yaml names. Returns null if none is named or, after adding an
 * error to the file, if it is unusable.
 *
 * @param what for messages: `key`, `token`
 */
async function readKeyFile(file: ConfigFile, path: Path, what: string): Promise<string | null> {
  const name = file.valueAt(path);
  // Validation reports any other type.
  if (typeof name !== 'string' || name === '') return null;
  const text = await readNamedText(file, path, name);
  if (text === null || text.length >= MIN_CHARACTERS) return text;
  file.add(
    path,
    `the ${what} has fewer than ${MIN_CHARACTERS} characters: generate one with "openssl rand -base64 32"`,
    { isContent: true },
  );
  return null;
}

const SECTION = 'store';

/**
 * Reads `store` of gateway.yaml and the files it names. Returns null, after adding diagnostics to the file, if it is unusable.
 */
async function readStore(file: ConfigFile, clock: Clock): Promise<StoreModel | null> {
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
