import { Cluster, Redis } from 'ioredis';
import type { RedisOptions } from '../options.ts';

/** Between two attempts to connect. Short: the policy decides meanwhile, and the gateway is to be back within 2 s. */
const RETRY_MS = 100;
const CONNECT_MS = 1_000;
/** An outstanding response of a cluster's node for which nothing at all came, handshakes included. */
const SILENCE_MS = 1_000;
const SLOTS_REFRESH_MS = 1_000;

/**
 * A client that never keeps a command for later and never sends one twice by itself: what cannot be sent now fails now. Only
 * what a node of a cluster did not do, since it is another's to do, goes to that other.
 */
export function makeClient(options: RedisOptions): Redis | Cluster {
  const { servers } = options;
  if (servers.kind === 'cluster') {
    return new Cluster([...servers.nodes], {
      redisOptions: { ...common(options), socketTimeout: SILENCE_MS },
      enableOfflineQueue: false,
      lazyConnect: true,
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      maxRedirections: 4,
      slotsRefreshInterval: SLOTS_REFRESH_MS,
      slotsRefreshTimeout: CONNECT_MS,
      clusterRetryStrategy: () => RETRY_MS,
      // Certificates are for names, and names are resolved by the socket.
      dnsLookup: (host, found) => found(null, host),
    });
  }
  return new Redis({ ...common(options), ...placeOf(options), lazyConnect: true });
}

function placeOf({ servers, tls }: RedisOptions) {
  if (servers.kind === 'standalone') return { ...servers.address, db: servers.database };
  if (servers.kind === 'cluster') return {};
  const { user, password } = servers.credentials;
  return {
    sentinels: [...servers.sentinels],
    name: servers.master,
    role: 'master' as const,
    db: servers.database,
    ...(user !== null && { sentinelUsername: user }),
    ...(password !== null && { sentinelPassword: password }),
    ...(tls !== null && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
    sentinelRetryStrategy: () => RETRY_MS,
  };
}

function common({ credentials, tls }: RedisOptions) {
  return {
    ...(credentials.user !== null && { username: credentials.user }),
    ...(credentials.password !== null && { password: credentials.password }),
    ...(tls !== null && { tls }),
    connectionName: 'weir',
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // Whether a server can do its work is asked by the probes, which need no right to INFO.
    enableReadyCheck: false,
    connectTimeout: CONNECT_MS,
    retryStrategy: () => RETRY_MS,
    // A master that has become a replica: whoever is the master now is found by connecting again.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  };
}
