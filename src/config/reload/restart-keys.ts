import { isSame } from '../../core/index.ts';
import { FIXED_KEYS, gatewaySchema, type SettingModels } from '../settings/index.ts';

/** A changed key of gateway.yaml or limits.yaml that takes effect after a restart. */
export interface RestartKey {
  readonly key: string;
  /** The values in effect and in the file, as the operator would write them. */
  readonly running: string;
  readonly wanted: string;
}

/** A key that a running gateway cannot change, as a configuration has it. */
export interface FixedValue {
  readonly key: string;
  readonly value: unknown;
  /** As the operator would write it, without secrets. */
  readonly written: string;
}

const KEYS = FIXED_KEYS.map(({ key }) => key);
const isOfGateway = (key: string) => Object.hasOwn(gatewaySchema.shape, key.split('.')[0] ?? '');

/** The keys whose changes wait for a restart, by their file. */
export const RESTART_KEYS = {
  gateway: KEYS.filter(isOfGateway),
  limits: KEYS.filter(key => !isOfGateway(key)),
};

/** Returns all that a gateway started with this configuration cannot change. */
export function fixedValuesOf(parts: SettingModels): readonly FixedValue[] {
  return FIXED_KEYS.map(({ key, value, written }) => ({
    key,
    value: value(parts),
    written: written(parts),
  }));
}

/** @param started of the configuration that the process was started with */
export function restartKeys(started: readonly FixedValue[], latest: SettingModels): readonly RestartKey[] {
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
