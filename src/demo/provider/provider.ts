import { generateKeyPairSync, type JsonWebKey, randomBytes, randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import OidcProvider from 'oidc-provider';
import { systemClock } from '../../core/index.ts';
import { memoryStore } from './memory-store.ts';
import { addKeycloakMembers, REALM_PATH, realmConfiguration } from './realm.ts';
import { type Serve, serveRealm } from './serve-realm.ts';

export interface DemoProviderOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** Redirect URIs of the client `gateway` beside the provider's own `/callback` page. */
  readonly redirectUris?: readonly string[];
  /** Further clients, or other registrations of `gateway` and `demo-bot`, in the words of OpenID Connect. */
  readonly clients?: readonly Readonly<Record<string, unknown>>[];
  /** How long a code can be redeemed. Default 60 s. */
  readonly codeSeconds?: number;
  /** How long access and ID tokens live. Default 300 s. */
  readonly accessTokenSeconds?: number;
}

export interface DemoProvider {
  readonly issuer: string;
  /** A redirect URI of the client `gateway`: a page of the provider's own that shows the code. */
  readonly callbackUri: string;
  /** Signs with a new key from now on. The old ones stay in the key set unless they are to be forgotten. */
  rotateKeys(options?: { readonly forgetOld?: boolean }): void;
  /** `not-before-policy` of the token answers from now on: seconds since the epoch; 0 at the start. */
  setNotBefore(seconds: number): void;
  close(): Promise<void>;
}

/** The client that the gateway redeems codes as. */
export const GATEWAY_CLIENT = { id: 'gateway', secret: 'gateway-demo-secret' } as const;
/** A bot: it gets its tokens by `client_credentials`. */
export const BOT_CLIENT = { id: 'demo-bot', secret: 'demo-bot-secret' } as const;

const REFRESH_SECONDS = 1_800;

/**
 * An identity provider that looks like a Keycloak realm to its clients: `{issuer}/protocol/openid-connect/auth` and so on,
 * with Keycloak's claims and answer members. Its keys are made at the start and its memory is its process.
 */
export async function startProvider(options: DemoProviderOptions = {}): Promise<DemoProvider> {
  const host = options.host ?? '127.0.0.1';
  let serve: Serve = (_request, response) => {
    response.writeHead(503).end();
  };
  const server = createServer((request, response) => serve(request, response));
  const port = await listen(server, host, options.port ?? 0);
  const origin = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const issuer = `${origin}${REALM_PATH}`;
  const callbackUri = `${origin}/callback`;

  const cookieKey = randomBytes(32).toString('hex');
  const store = memoryStore(systemClock);
  let keys = [newKey()];
  let notBefore = 0;
  const open = () => {
    const provider = new OidcProvider(
      issuer,
      realmConfiguration({
        clients: clientsOf(options, callbackUri),
        keys,
        cookieKey,
        store,
        codeSeconds: options.codeSeconds ?? 60,
        accessTokenSeconds: options.accessTokenSeconds ?? 300,
        refreshTokenSeconds: REFRESH_SECONDS,
      }),
    );
    provider.use(async (ctx, next) => {
      await next();
      addKeycloakMembers(ctx, REFRESH_SECONDS, notBefore);
    });
    serve = serveRealm(provider, authorizeUrl(issuer, callbackUri));
  };
  open();

  return {
    issuer,
    callbackUri,
    rotateKeys({ forgetOld = false } = {}) {
      keys = forgetOld ? [newKey()] : [newKey(), ...keys];
      // oidc-provider keeps its keys for life. Codes and sessions are in the store.
      open();
    },
    setNotBefore(seconds) {
      notBefore = seconds;
    },
    async close() {
      server.closeAllConnections();
      await promisify(server.close.bind(server))();
    },
  };
}

/** As the gateway's own authorization URL, but for the order of its parameters. */
function authorizeUrl(issuer: string, callbackUri: string): string {
  const url = new URL(`${issuer}/protocol/openid-connect/auth`);
  url.searchParams.set('client_id', GATEWAY_CLIENT.id);
  url.searchParams.set('redirect_uri', callbackUri);
  url.searchParams.set('response_type', 'code');
  url.searchParams.set('scope', 'openid profile');
  return url.href;
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

function newKey(): JsonWebKey {
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
