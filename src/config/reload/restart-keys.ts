import { isSame } from '../../core/index.ts';
import type { Snapshot } from '../model/index.ts';
import { FIXED_KEYS, type FixedKey, type SettingModels } from '../settings/index.ts';

/** A changed key of gateway.yaml or limits.yaml that takes effect after a restart. */
export interface RestartKey {
  readonly key: string;
  /** The values in effect and in the file, as the operator would write them. */
  readonly running: string;
  readonly wanted: string;
}

/** The parts of a configuration with keys that a running gateway may be unable to change. */
type FixedParts = SettingModels & {
  readonly limits: Pick<Snapshot['limits'], 'writtenKeying'>;
};

/** A key that a running gateway cannot change, as a configuration has it. */
export interface FixedValue {
  readonly key: string;
  readonly value: unknown;
  /** As the operator would write it, without secrets. */
  readonly written: string;
}

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

/** Returns all that a gateway started with this configuration cannot change. */
export function fixedValuesOf(parts: FixedParts): readonly FixedValue[] {
  return [...FIXED_KEYS, ...FIXED_LIMITS].map(({ key, value, written }) => ({
    key,
    value: value(parts),
    written: written(parts),
  }));
}

/** @param started the values with which the process was started */
export function restartKeys(started: readonly FixedValue[], latest: FixedParts): readonly RestartKey[] {
  return fixedValuesOf(latest).flatMap(({ key, value, written: wanted }, index) => {
    const running = started[index];
    if (running === undefined || isSame(running.value, value)) return [];
    const isWrittenAlike = wanted === running.written;
    return {
      key,
      running: running.written,
      wanted: isWrittenAlike ? `${wanted}, with other settings or secrets` : wanted,
    };
  });
}
