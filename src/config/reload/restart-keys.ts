import { isDeepStrictEqual } from 'node:util';
import { formatHostPort, type HostPort, type Snapshot, type StoreModel } from '../model/index.ts';

/** A key of gateway.yaml that was changed and waits for a restart. */
export interface RestartKey {
  readonly key: string;
  /** What is in effect, and what the file says, as the operator would write it. */
  readonly running: string;
  readonly wanted: string;
}

/** The parts of a configuration that hold what a running gateway cannot change. */
export type FixedParts = Pick<Snapshot, 'listen' | 'caps' | 'store'>;

interface FixedKey {
  readonly key: string;
  value(parts: FixedParts): unknown;
  /** How it is written; no secret of it. */
  written(parts: FixedParts): string;
}

/** What a running gateway cannot change. */
const FIXED: readonly FixedKey[] = [
  {
    key: 'listen.http',
    value: ({ listen }) => listen.http.address,
    written: ({ listen }) => formatHostPort(listen.http.address),
  },
  {
    key: 'listen.admin',
    value: ({ listen }) => listen.admin?.address ?? null,
    written: ({ listen }) => addressOrOff(listen.admin?.address ?? null),
  },
  { key: 'caps.limit_keys', value: ({ caps }) => caps.limitKeys, written: ({ caps }) => `${caps.limitKeys}` },
  { key: 'store', value: ({ store }) => store, written: ({ store }) => storeInWords(store) },
];

/** The keys of gateway.yaml whose change waits for a restart; every other change serves at once. */
export const RESTART_KEYS: readonly string[] = FIXED.map(({ key }) => key);

/** @param started what the process was started with */
export function restartKeys(started: FixedParts, latest: FixedParts): readonly RestartKey[] {
  return FIXED.filter(({ value }) => !isDeepStrictEqual(value(started), value(latest))).map(
    ({ key, written }) => {
      const [running, wanted] = [written(started), written(latest)];
      return {
        key,
        running,
        wanted: wanted === running ? `${wanted}, with other settings or secrets` : wanted,
      };
    },
  );
}

function addressOrOff(address: HostPort | null): string {
  return address === null ? 'off' : formatHostPort(address);
}

/** `memory`, or where Redis is and what happens without it. */
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
