import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { type Clock, systemClock } from '../../../core/index.ts';
import { OidcProvider } from './load-provider.ts';
import { addKeycloakMembers, REALM_PATH, realmConfiguration, type SigningKey } from './realm.ts';
import { type Serve, serveRealm } from './serve-realm.ts';

export interface DemoProviderOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** Additional redirect URIs of the client `gateway`, next to `callbackUri`. */
  readonly redirectUris?: readonly string[];
  /** Additional clients, or other registrations of `gateway` and `demo-bot`, in OpenID Connect's terms. */
  readonly clients?: readonly Readonly<Record<string, unknown>>[];
  /** How long a code is valid. Default 60 s. */
  readonly codeSeconds?: number;
  /** How long access and ID tokens are valid. Default 300 s. */
  readonly accessTokenSeconds?: number;
  /** Makes the keys that sign. Default: `newKey`. */
  readonly makeKey?: () => SigningKey;
}

export interface DemoProvider {
  readonly issuer: string;
  /** A redirect URI of the client `gateway`. Nothing is served there. */
  readonly callbackUri: string;
  /** Signs with a new key from now on. The old keys stay in the key set. */
  rotateKeys(): void;
  /** Sets `not-before-policy` of the token responses, in seconds since the epoch; initially 0. */
  setNotBefore(seconds: number): void;
  close(): Promise<void>;
}

export const GATEWAY_CLIENT = { id: 'gateway', secret: 'gateway-demo-secret' } as const;
/** A bot, which gets its tokens with `client_credentials`. */
export const BOT_CLIENT = { id: 'demo-bot', secret: 'demo-bot-secret' } as const;

const REFRESH_SECONDS = 1_800;

/**
 * Starts an identity provider that looks like a Keycloak realm to its clients: `{issuer}/protocol/openid-connect/auth` and so on,
 * with Keycloak's claims and token members. It makes its keys at startup and keeps everything in memory.
 */
export async function startProvider(options: DemoProviderOptions = {}): Promise<DemoProvider> {
  const host = options.host ?? '127.0.0.1';
  const server = createServer();
  const port = await listen(server, host, options.port ?? 0);
  const realm = new Realm(`http://${host.includes(':') ? `[${host}]` : host}:${port}`, options);
  server.on('request', (request, response) => realm.serve(request, response));
  return {
    issuer: realm.issuer,
    callbackUri: realm.callbackUri,
    rotateKeys: () => realm.rotateKeys(),
    setNotBefore(seconds) {
      realm.notBefore = seconds;
    },
    async close() {
      server.closeAllConnections();
      await promisify(server.close.bind(server))();
    },
  };
}

/** oidc-provider keeps its keys forever, so new keys need a new instance. Codes and sessions are in the store. */
class Realm {
  readonly issuer: string;
  readonly callbackUri: string;
  /** `not-before-policy` of the token responses. */
  notBefore = 0;
  readonly #options: DemoProviderOptions;
  readonly #cookieKey = randomBytes(32).toString('hex');
  readonly #store = memoryStore(systemClock);
  readonly #makeKey: () => SigningKey;
  #keys: readonly SigningKey[];
  #serve: Serve;

  constructor(origin: string, options: DemoProviderOptions) {
    this.issuer = `${origin}${REALM_PATH}`;
    this.callbackUri = `${origin}/callback`;
    this.#options = options;
    this.#makeKey = options.makeKey ?? newKey;
    this.#keys = [this.#makeKey()];
    this.#serve = this.#open();
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    this.#serve(request, response);
  }

  rotateKeys(): void {
    this.#keys = [this.#makeKey(), ...this.#keys];
    this.#serve = this.#open();
  }

  #open(): Serve {
    const configuration = realmConfiguration({
      clients: clientsOf(this.#options, this.callbackUri),
      keys: this.#keys,
      cookieKey: this.#cookieKey,
      store: this.#store,
      codeSeconds: this.#options.codeSeconds ?? 60,
      accessTokenSeconds: this.#options.accessTokenSeconds ?? 300,
      refreshTokenSeconds: REFRESH_SECONDS,
    });
    const provider = new OidcProvider(this.issuer, configuration);
    provider.use(async (ctx, next) => {
      await next();
      addKeycloakMembers(ctx, REFRESH_SECONDS, this.notBefore);
    });
    return serveRealm(
      provider,
      authorizeUrl(this.issuer, this.#options.redirectUris?.[0] ?? this.callbackUri),
    );
  }
}

/** The gateway's authorization URL, except for the order of the parameters. */
function authorizeUrl(issuer: string, callbackUri: string): string {
  const client = { client_id: GATEWAY_CLIENT.id, redirect_uri: callbackUri };
  const query = new URLSearchParams({ ...client, response_type: 'code', scope: 'openid profile' });
  return `${issuer}/protocol/openid-connect/auth?${query}`;
}

function clientsOf(options: DemoProviderOptions, callbackUri: string): Readonly<Record<string, unknown>>[] {
  const own = [
    {
      client_id: GATEWAY_CLIENT.id,
      client_secret: GATEWAY_CLIENT.secret,
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: [callbackUri, ...(options.redirectUris ?? [])],
    },
    {
      client_id: BOT_CLIENT.id,
      client_secret: BOT_CLIENT.secret,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
  ];
  const more = options.clients ?? [];
  const others = new Set(more.map(client => client['client_id']));
  return [...own.filter(client => !others.has(client.client_id)), ...more];
}

/** A key of RSA with 2,048 bits: made in a tenth of a second. */
export function newKey(): SigningKey {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'RS256' };
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return (server.address() as AddressInfo).port;
}

interface Entry {
  readonly payload: Record<string, unknown>;
  readonly expiresAtMs: number;
}

/** Maximum number of entries: beyond it the oldest are dropped, so a demo that is left running does not grow. */
const MAX_ENTRIES = 10_000;

/**
 * Holds the codes, sessions, grants and tokens of oidc-provider. Unlike the library's own memory it can be passed to a provider
 * with other keys, and it does not warn at every start that it is not a database. @returns an `adapter` for the library's
 * configuration
 */
export function memoryStore(clock: Clock): (model: string) => MemoryModel {
  const entries = new Map<string, Entry>();
  return model => new MemoryModel(model, entries, clock);
}

class MemoryModel {
  readonly #model: string;
  readonly #entries: Map<string, Entry>;
  readonly #clock: Clock;

  constructor(model: string, entries: Map<string, Entry>, clock: Clock) {
    this.#model = model;
    this.#entries = entries;
    this.#clock = clock;
  }

  async upsert(id: string, payload: Record<string, unknown>, expiresIn?: number): Promise<void> {
    const lifeMs = expiresIn === undefined ? Number.POSITIVE_INFINITY : expiresIn * 1_000;
    this.#entries.delete(this.#key(id));
    this.#entries.set(this.#key(id), { payload, expiresAtMs: this.#clock.epochMs() + lifeMs });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > MAX_ENTRIES && oldest !== undefined) this.#entries.delete(oldest);
  }

  async find(id: string): Promise<unknown> {
    const entry = this.#entries.get(this.#key(id));
    return entry !== undefined && entry.expiresAtMs > this.#clock.epochMs() ? entry.payload : undefined;
  }

  async findByUid(uid: string): Promise<unknown> {
    return this.#findBy('uid', uid);
  }

  async findByUserCode(userCode: string): Promise<unknown> {
    return this.#findBy('userCode', userCode);
  }

  async consume(id: string): Promise<void> {
    const entry = this.#entries.get(this.#key(id));
    if (entry !== undefined) entry.payload['consumed'] = Math.floor(this.#clock.epochMs() / 1_000);
  }

  async destroy(id: string): Promise<void> {
    this.#entries.delete(this.#key(id));
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [key, { payload }] of this.#entries) {
      if (this.#owns(key) && payload['grantId'] === grantId) this.#entries.delete(key);
    }
  }

  #owns(key: string): boolean {
    return key.startsWith(`${this.#model}:`);
  }

  #key(id: string): string {
    return `${this.#model}:${id}`;
  }

  #findBy(member: string, value: string): unknown {
    for (const [key, { payload, expiresAtMs }] of this.#entries) {
      const alive = this.#owns(key) && expiresAtMs > this.#clock.epochMs();
      if (alive && payload[member] === value) return payload;
    }
    return undefined;
  }
}
