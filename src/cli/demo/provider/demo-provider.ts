import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
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

export type DemoProvider = Awaited<ReturnType<typeof startProvider>>;

export const GATEWAY_CLIENT = { id: 'gateway', secret: 'gateway-demo-secret' } as const;
/** A bot, which gets its tokens with `client_credentials`. */
export const BOT_CLIENT = { id: 'demo-bot', secret: 'demo-bot-secret' } as const;

const REFRESH_SECONDS = 1_800;

/**
 * Starts an identity provider that looks like a Keycloak realm to its clients: `{issuer}/protocol/openid-connect/auth` and so on,
 * with Keycloak's claims and token members. It makes its keys at startup and keeps everything in memory.
 */
export async function startProvider(options: DemoProviderOptions = {}) {
  const { host = '127.0.0.1', makeKey = newKey, codeSeconds = 60, accessTokenSeconds = 300 } = options;
  const server = createServer();
  const port = await listen(server, host, options.port ?? 0);
  const origin = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const issuer = `${origin}${REALM_PATH}`;
  const callbackUri = `${origin}/callback`;
  const cookieKey = randomBytes(32).toString('hex');
  const store = memoryStore(systemClock);
  let keys = [makeKey()];
  let notBefore = 0;
  // oidc-provider keeps its keys forever, so new keys need a new instance. Codes and sessions are in the store.
  const open = (): Serve => {
    const configuration = realmConfiguration({
      clients: clientsOf(options, callbackUri),
      keys,
      cookieKey,
      store,
      codeSeconds,
      accessTokenSeconds,
      refreshTokenSeconds: REFRESH_SECONDS,
    });
    const provider = new OidcProvider(issuer, configuration);
    provider.use(async (ctx, next) => {
      await next();
      addKeycloakMembers(ctx, REFRESH_SECONDS, notBefore);
    });
    return serveRealm(provider, authorizeUrl(issuer, options.redirectUris?.[0] ?? callbackUri));
  };
  let serve = open();
  server.on('request', (request, response) => serve(request, response));
  return {
    issuer,
    /** A redirect URI of the client `gateway`. Nothing is served there. */
    callbackUri,
    /** Signs with a new key from now on. The old keys stay in the key set. */
    rotateKeys() {
      keys = [makeKey(), ...keys];
      serve = open();
    },
    /** Sets `not-before-policy` of the token responses, in seconds since the epoch; initially 0. */
    setNotBefore(seconds: number) {
      notBefore = seconds;
    },
    async close() {
      server.closeAllConnections();
      await promisify(server.close.bind(server))();
    },
  };
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

/** A 2,048-bit RSA key, which takes a tenth of a second to make. */
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
export function memoryStore(clock: Clock) {
  const entries = new Map<string, Entry>();
  return (model: string) => {
    const keyOf = (id: string) => `${model}:${id}`;
    const isAlive = ({ expiresAtMs }: Entry) => expiresAtMs > clock.epochMs();
    const own = () => [...entries].filter(([key]) => key.startsWith(keyOf('')));
    const findBy = async (member: string, value: string): Promise<unknown> =>
      own().find(([, entry]) => isAlive(entry) && entry.payload[member] === value)?.[1].payload;
    return {
      async upsert(id: string, payload: Record<string, unknown>, expiresIn = Number.POSITIVE_INFINITY) {
        entries.delete(keyOf(id));
        entries.set(keyOf(id), { payload, expiresAtMs: clock.epochMs() + expiresIn * 1_000 });
        const [oldest] = entries.keys();
        if (entries.size > MAX_ENTRIES && oldest !== undefined) entries.delete(oldest);
      },
      async find(id: string): Promise<unknown> {
        const entry = entries.get(keyOf(id));
        return entry !== undefined && isAlive(entry) ? entry.payload : undefined;
      },
      findByUid: (uid: string) => findBy('uid', uid),
      findByUserCode: (userCode: string) => findBy('userCode', userCode),
      async consume(id: string) {
        const entry = entries.get(keyOf(id));
        if (entry !== undefined) entry.payload['consumed'] = Math.floor(clock.epochMs() / 1_000);
      },
      async destroy(id: string) {
        entries.delete(keyOf(id));
      },
      async revokeByGrantId(grantId: string) {
        for (const [key, { payload }] of own()) if (payload['grantId'] === grantId) entries.delete(key);
      },
    };
  };
}
