import { createHash } from 'node:crypto';
import { z } from 'zod';
import { formatHostPort, socketPath } from '../../core/index.ts';
import { ServerNames, type TlsOptions } from '../../wire/tls/index.ts';
import { asList, asMap, type ConfigFile, type RawMap, Section } from '../file/index.ts';
import { parseRoutePattern, placeOf, RouteTable } from '../routing/index.ts';
import {
  clientPlace,
  clientPlaceOrOff,
  count,
  HOST_PORT_EXPECTED,
  HOST_PORT_OR_OFF_EXPECTED,
  type HostPort,
  hostPort,
  hostPortOrOff,
  list,
  mapOf,
  optionalFile,
  orSocket,
  routePath,
  yesOrNo,
} from '../values/index.ts';
import { adminTlsSchema, type ListenerTls, listenerTlsSchema, readListenerTls } from './listener-tls.ts';
import { readKeyFile } from './secret-files.ts';
import { setting } from './setting.ts';

const grpcKeys = {
  address: clientPlace().describe(
    'Where it listens: host:port, or unix:/run/weir/weir.sock with mode 0660. Port 0 takes a free one, which is logged.',
  ),
  tls: listenerTlsSchema.optional(),
  proxy_protocol: yesOrNo(false).describe(
    'Whether every connection must begin with a PROXY protocol header, version 1 or 2. Connections without one, or from peers not listed in trusted_proxies, are closed.',
  ),
};

const redirectKeys = {
  address: grpcKeys.address,
  proxy_protocol: grpcKeys.proxy_protocol,
  port: count(65_535, 443).describe('The port of https that clients are sent to.'),
  except: list(routePath(), 'expected a list of paths such as [/health]').describe(
    'Paths that are served by the routes instead, over http, written as those of routes: /.well-known/acme-challenge/**, /health.',
  ),
};

const clientKeys = {
  ...grpcKeys,
  h2c: yesOrNo(false).describe('Whether clients may speak HTTP/2 in cleartext as well, by prior knowledge.'),
};

const clientMap = z.strictObject(clientKeys);
const grpcMap = z.strictObject(grpcKeys);
const redirectMap = z.strictObject(redirectKeys);
const adminMap = z.strictObject({
  address: hostPort().describe('Where it listens: host:port. Port 0 takes a free one, which is logged.'),
  tls: adminTlsSchema.optional(),
  token_file: optionalFile().describe(
    'A file with the token of the admin API, at least 32 characters. Relative to this file, and read again when it changes. Left out: the API is read-only, and shows callers only if it listens on loopback.',
  ),
});

/** An address, or a map with the address and protocol settings; or `off`, read as null, where that is possible. */
function listener<Listener extends z.ZodObject, Off extends null>(
  map: Listener,
  place: z.ZodType<HostPort | Off>,
  expected = HOST_PORT_OR_OFF_EXPECTED,
) {
  const alone = place.transform(
    at => (at === null ? at : map.parse({ address: formatHostPort(at) })) as z.output<Listener> | Off,
  );
  return z.union([alone, map], { error: orSocket(expected) });
}

export const listenSchema = mapOf('{ http: 0.0.0.0:8080 }', {
  http: listener<typeof clientMap, never>(clientMap, clientPlace(), HOST_PORT_EXPECTED)
    .prefault('[::]:8080')
    .describe(
      'Where clients connect: host:port, unix:/run/weir/weir.sock, or a map. Address changes take effect after a restart.',
    ),
  redirect: listener(redirectMap, clientPlaceOrOff())
    .prefault('off')
    .describe(
      'A listener that redirects clients from http to https: host:port, a map, or off. Every request gets a 308. Address changes take effect after a restart.',
    ),
  grpc: listener(grpcMap, clientPlaceOrOff())
    .prefault('off')
    .describe(
      'Where gRPC clients connect, over HTTP/2 only: host:port, a map, or off. Address changes take effect after a restart.',
    ),
  admin: listener(adminMap, hostPortOrOff())
    .prefault('127.0.0.1:9090')
    .describe(
      'Where metrics and health are served, for the platform only: host:port, a map, or off. Address changes take effect after a restart.',
    ),
});

const LISTENERS = ['http', 'redirect', 'grpc', 'admin'] as const;

export const listen = setting({
  keys: { listen: listenSchema.prefault({}).describe('Where the gateway listens.') },
  check(written, file) {
    checkAddresses(file, written.listen);
    checkClients(file, written);
  },
  read: async (file, clock) => ({
    listenerTls: await readListenerTls(file, clock),
    adminTokenHash: await readAdminToken(file),
  }),
  withoutSecrets: () => ({ listenerTls: { http: null, grpc: null, admin: null }, adminTokenHash: null }),
  compile: ({ listen }, _, { listenerTls, adminTokenHash }): ListenPart => ({
    listen: compileListen(listen, listenerTls, adminTokenHash),
  }),
  needsRestart: LISTENERS.map(name => ({
    key: `listen.${name}`,
    value: ({ listen }: ListenPart) => listen[name]?.address ?? null,
    written: ({ listen }: ListenPart) => addressOrOff(listen[name]?.address ?? null),
  })),
});

interface ListenPart {
  readonly listen: ListenModel;
}

export interface ListenModel {
  readonly http: ListenerModel;
  /** The listener that redirects to https; `null` if there is none. */
  readonly redirect: RedirectModel | null;
  /** The listener for gRPC only; `null` if there is none. */
  readonly grpc: ListenerModel | null;
  /** The admin listener; `null` if there is none. */
  readonly admin: AdminListenerModel | null;
}

export interface ListenerModel {
  readonly address: HostPort;
  /** What it serves. `grpc`: only gRPC calls, only over HTTP/2. */
  readonly serves: 'every protocol' | 'grpc';
  /** Its certificates; `null` if it speaks cleartext. */
  readonly tls: TlsOptions | null;
  /** Whether cleartext clients may speak HTTP/2 as well, by prior knowledge (RFC 9113, 3.3). */
  readonly h2c: boolean;
  /** Whether each connection comes from a trusted proxy and begins with a PROXY protocol header. */
  readonly proxyProtocol: boolean;
}

export interface RedirectModel extends ListenerModel {
  readonly httpsPort: number;
  /** The paths that the routes serve, without a redirect. */
  readonly except: RouteTable<true>;
  /** The hosts covered by certificates of `listen.http`. */
  readonly hosts: ServerNames<true>;
}

export interface AdminListenerModel {
  readonly address: HostPort;
  /** SHA-256 of the admin API's token; `null` if none is configured. */
  readonly tokenHash: Buffer | null;
  /** Its certificates; `null` if it speaks cleartext. */
  readonly tls: TlsOptions | null;
}

function addressOrOff(address: HostPort | null): string {
  return address === null ? 'off' : formatHostPort(address);
}

function checkAddresses(file: ConfigFile, value: unknown): void {
  const listen = listenSchema.safeParse(value ?? {});
  if (!listen.success) return;
  const { http, redirect, grpc, admin } = listen.data;
  if (redirect !== null && http.tls === undefined)
    file.add(['listen', 'redirect'], 'there is no https to send clients to: add "tls" to listen.http');
  const listeners = Object.entries({ http, redirect, grpc, admin });
  for (const [index, [name, listener]] of listeners.entries()) {
    const taken = listeners.slice(0, index).find(([, other]) => overlap(other, listener));
    if (taken !== undefined)
      file.add(['listen', name], `${taken[0]} already listens on this address: use another port`);
  }
}

type Listening = { readonly address: HostPort } | null;

function overlap(one: Listening, other: Listening): boolean {
  if (one === null || other === null) return false;
  const [a, b] = [one.address, other.address];
  if (socketPath(a.host) !== null) return a.host === b.host;
  if (a.port === 0) return false;
  return a.port === b.port && (a.host === b.host || isEveryAddress(a.host) || isEveryAddress(b.host));
}

function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || /^[0:]+$/.test(host);
}

/**
 * Reports Unix sockets that threads would have to share, those whose clients all count as one, and listeners that require PROXY
 * headers although no proxy is trusted to send them.
 */
function checkClients(file: ConfigFile, { listen, trusted_proxies, workers = 1 }: RawMap): void {
  const trusted = asList(trusted_proxies);
  for (const [name, written] of Object.entries(asMap(listen))) {
    if (name === 'admin') continue;
    const listener = new Section(file, ['listen', name], written);
    const { address = written, proxy_protocol } = listener.raw;
    if (proxy_protocol === true && trusted.length === 0)
      listener.add(
        'proxy_protocol',
        'no proxy is trusted to send the PROXY header: list your load balancers under trusted_proxies',
      );
    if (typeof address !== 'string' || socketPath(address) === null) continue;
    if (String(workers) !== '1')
      listener.add([], 'threads cannot share a Unix socket: take "workers" out, or listen on a port');
    const message =
      'all clients on a Unix socket are the address "unix", with one share of all limits: if a proxy connects there, add unix to trusted_proxies';
    if (!trusted.includes('unix')) listener.warn([], message);
  }
}

const TOKEN_FILE = ['listen', 'admin', 'token_file'];

/**
 * Reads the admin API's token from the file that `listen.admin.token_file` names. Returns its SHA-256, which is enough for a
 * comparison; `null` if none is named, or if it is unusable, which was reported.
 */
async function readAdminToken(file: ConfigFile): Promise<Buffer | null> {
  const token = await readKeyFile(file, TOKEN_FILE, 'token');
  if (token === null) return null;
  // RFC 6750, 2.1: the text that a client can send after "Bearer".
  if (/^[A-Za-z0-9._~+/-]+=*$/.test(token)) return createHash('sha256').update(token).digest();
  file.add(
    TOKEN_FILE,
    'the token must be one line of letters, digits and "-._~+/", and may end with "=": generate one with "openssl rand -base64 32"',
    { isContent: true },
  );
  return null;
}

function compileListen(
  { http, redirect, grpc, admin }: z.output<typeof listenSchema>,
  tls: ListenerTls,
  adminTokenHash: Buffer | null,
): ListenModel {
  const { address, h2c, proxy_protocol: proxyProtocol } = http;
  return {
    http: { address, serves: 'every protocol', tls: tls.http, h2c, proxyProtocol },
    redirect: redirect === null ? null : compileRedirect(redirect, tls),
    grpc: grpc && {
      address: grpc.address,
      serves: 'grpc',
      tls: tls.grpc,
      h2c: true,
      proxyProtocol: grpc.proxy_protocol,
    },
    admin: admin && { address: admin.address, tls: tls.admin, tokenHash: adminTokenHash },
  };
}

function compileRedirect(
  { address, proxy_protocol: proxyProtocol, port, except }: z.output<typeof redirectMap>,
  tls: ListenerTls,
): RedirectModel {
  const names = (tls.http?.certificates ?? []).flatMap(({ serverNames }) => serverNames);
  const hosts = new ServerNames(names.map(name => [name, true] as const));
  const patterns = except.map(path => parseRoutePattern(path, null));
  const distinct = new Map(patterns.map(pattern => [placeOf(pattern), { pattern, value: true as const }]));
  return {
    address,
    serves: 'every protocol',
    tls: null,
    h2c: false,
    proxyProtocol,
    httpsPort: port,
    hosts,
    except: new RouteTable([...distinct.values()]),
  };
}
