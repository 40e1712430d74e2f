import { isSame } from '../../core/index.ts';
import type { Snapshot } from '../model/index.ts';
import { FIXED_KEYS, type FixedKey, type FixedModels } from '../settings/index.ts';

/** A changed key of gateway.yaml or limits.yaml that takes effect after a restart. */
export interface RestartKey {
  readonly key: string;
  /** The values in effect and in the file, as the operator would write them. */
  readonly running: string;
  readonly wanted: string;
}

/** The parts of a configuration with keys that a running gateway cannot change. */
export type FixedParts = FixedModels & {
  readonly limits: Pick<Snapshot['limits'], 'writtenKeying'>;
};

/** The keys of limits.yaml whose changes take effect only after a restart. */
const FIXED_LIMITS: readonly FixedKey<FixedParts>[] = [
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

/** The keys of gateway.yaml whose changes wait for a restart; of limits.yaml, `ipv6_prefix` and `nat64_prefixes` do. */
export const RESTART_KEYS: readonly string[] = FIXED_KEYS.map(({ key }) => key);

/** @param started the configuration that the process was started with */
export function restartKeys(started: FixedParts, latest: FixedParts): readonly RestartKey[] {
  return [...FIXED_KEYS, ...FIXED_LIMITS]
    .filter(({ value }) => !isSame(value(started), value(latest)))
    .map(({ key, written }) => {
      const [running, wanted] = [written(started), written(latest)];
      return {
        key,
        running,
        wanted: wanted === running ? `${wanted}, with other settings or secrets` : wanted,
      };
    });
}
