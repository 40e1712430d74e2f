import { isDeepStrictEqual } from 'node:util';
import { formatDuration } from '../../core/index.ts';
import {
  formatHostPort,
  type HostPort,
  type Snapshot,
  type StateModel,
  type StoreModel,
  workersInWords,
} from '../model/index.ts';

/** A changed key of gateway.yaml or limits.yaml that takes effect after a restart. */
export interface RestartKey {
  readonly key: string;
  /** The values in effect and in the file, as the operator would write them. */
  readonly running: string;
  readonly wanted: string;
}

/** The parts of a configuration with keys that a running gateway cannot change. */
export type FixedParts = Pick<Snapshot, 'listen' | 'workers' | 'caps' | 'store' | 'state' | 'tracing'> & {
  readonly limits: Pick<Snapshot['limits'], 'writtenKeying'>;
};

interface FixedKey {
  readonly key: string;
  value(parts: FixedParts): unknown;
  /** The value as the operator would write it, without secrets. */
  written(parts: FixedParts): string;
}

const LISTENERS = ['http', 'redirect', 'grpc', 'admin'] as const;

/** The keys that a running gateway cannot change. */
const FIXED: readonly FixedKey[] = [
  ...LISTENERS.map(name => ({
    key: `listen.${name}`,
    value: ({ listen }: FixedParts) => listen[name]?.address ?? null,
    written: ({ listen }: FixedParts) => addressOrOff(listen[name]?.address ?? null),
  })),
  {
    key: 'workers',
    value: ({ workers }) => workers.count,
    written: ({ workers }) => workersInWords(workers),
  },
  { key: 'caps.limit_keys', value: ({ caps }) => caps.limitKeys, written: ({ caps }) => `${caps.limitKeys}` },
  {
    key: 'tracing.export',
    value: ({ tracing }) => tracing?.export ?? null,
    written: ({ tracing }) => tracing?.export?.endpoint ?? 'off',
  },
  {
    key: 'state',
    value: ({ state }) => state,
    written: ({ state }) => (state === null ? 'nothing is kept' : stateInWords(state)),
  },
  { key: 'store', value: ({ store }) => withoutSecrets(store), written: ({ store }) => storeInWords(store) },
];

/** The keys of limits.yaml whose changes take effect only after a restart. */
const FIXED_LIMITS: readonly FixedKey[] = [
  {
    key: 'ipv6_prefix',
    value: ({ limits }) => limits.writtenKeying.ipv6Prefix,
    written: ({ limits }) => `${limits.writtenKeying.ipv6Prefix}`,
  },
  {
    key: 'nat64_prefixes',
    value: ({ limits }) => prefixesIn(limits).toSorted(),
    written: ({ limits }) => prefixesIn(limits).join(', ') || 'none',
  },
];

function prefixesIn({ writtenKeying: { translators } }: FixedParts['limits']): string[] {
  return translators.map(({ text }) => text);
}

/**
 * The keys of gateway.yaml whose changes take effect only after a restart. All other changes apply at once, except `ipv6_prefix`
 * and `nat64_prefixes` in limits.yaml.
 */
export const RESTART_KEYS: readonly string[] = FIXED.map(({ key }) => key);

/** @param started the configuration that the process was started with */
export function restartKeys(started: FixedParts, latest: FixedParts): readonly RestartKey[] {
  return [...FIXED, ...FIXED_LIMITS]
    .filter(({ value }) => !isDeepStrictEqual(value(started), value(latest)))
    .map(({ key, written }) => {
      const [running, wanted] = [written(started), written(latest)];
      return {
        key,
        running,
        wanted: wanted === running ? `${wanted}, with other settings or secrets` : wanted,
      };
    });
}

function addressOrOff(address: HostPort | null): string {
  return address === null ? 'off' : formatHostPort(address);
}

/** Describes where state is kept and for how long. */
function stateInWords({ folder, countersMs }: StateModel): string {
  return countersMs === null ? folder : `${folder}, counters: ${formatDuration(countersMs)}`;
}

/** What of `store` a running gateway cannot change: all but credentials and certificates. */
export function withoutSecrets(store: StoreModel): unknown {
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
