import type { Clock, Machine } from '../../core/index.ts';
import type { PathWords, RouteEntry } from '../../gateway/routing/index.ts';
import type { ConfigFile, RawMap } from '../file/index.ts';
import type { PolicyConfig, PolicyKeys } from '../policies/index.ts';
import type { Meaning } from '../values/index.ts';
import { means } from '../values/index.ts';

/** What a setting may need to know about the rest of the configuration to compile. */
export interface SettingContext {
  /** The name of gateway.yaml, to which the names of other files are relative. */
  readonly gatewayFile: string;
  /** What the process may use. */
  readonly machine: Machine;
  /** The header families that tell clients about their limits. */
  readonly headers: readonly string[];
  /** Whether tokens may be bound to a key, so that requests carry proofs. */
  readonly proofs: boolean;
  /** Whether limits are counted in each gateway alone. */
  readonly countsInMemory: boolean;
  readonly webSockets: boolean;
  /** The routes of gateway.yaml and the lines of limits.yaml. */
  readonly routes: readonly RouteEntry<unknown>[];
  /** The literals of these routes and of the gateway's own. */
  readonly words: PathWords;
}

/** What defaults to a share of the memory. */
export interface MemoryDefaults {
  /** A number that is `most` where memory is enough; `among` how many parts of the configuration have it. */
  part(most: number, among?: number): number;
  readonly bufferedBytes: number;
}

/** A setting: everything about one key of gateway.yaml, or about a few keys that form one part of the model. */
export interface Setting<Keys extends PolicyKeys, Model extends object, Secrets extends object> {
  /** The schema of each key, with its text and its default. */
  readonly keys: Keys;
  /** How `weir diff` compares the keys, if all their changes affect callers. Default: as their schemas are marked. */
  readonly meaning?: Meaning;
  /** Fills in defaults that depend on the memory, or on other keys: before validation, so that all see the same values. */
  fill?(written: RawMap, defaults: MemoryDefaults, file: ConfigFile): void;
  /** Reports what no schema can: how keys fit together, and with the rest of the file. Other keys may be invalid. */
  check?(written: RawMap, file: ConfigFile): void;
  /** Reads the secrets, keys and certificates that the keys name, and reports what is wrong with each. */
  read?(file: ConfigFile, clock: Clock): Promise<Secrets>;
  /** What stands in for them where they will not be used. */
  withoutSecrets?(config: PolicyConfig<Keys>): NoInfer<Secrets>;
  /** Makes a part of the snapshot. Omitted if it depends on much else: `compile/` makes that. */
  compile?(config: PolicyConfig<Keys>, context: SettingContext, secrets: NoInfer<Secrets>): Model;
  /** The keys whose changes take effect only after a restart. Default: all changes apply at once. */
  readonly needsRestart?: readonly FixedKey<NoInfer<Model>>[];
}

/** A key that a running gateway cannot change. */
export interface FixedKey<Model> {
  readonly key: string;
  value(model: Model): unknown;
  /** The value as the operator would write it, without secrets. */
  written(model: Model): string;
}

/** Declares a setting, with types inferred from its keys, its `read` and its `compile`. */
export function setting<
  Keys extends PolicyKeys,
  Model extends object = object,
  Secrets extends object = object,
>(declared: Setting<Keys, Model, Secrets>): Setting<Keys, Model, Secrets> {
  const { keys, meaning } = declared;
  if (meaning !== undefined) means(meaning, keys);
  return declared;
}

/** What a setting becomes in a snapshot. */
export type ModelOf<Part extends { readonly compile?: (...args: never) => object }> = ReturnType<
  NonNullable<Part['compile']>
>;
