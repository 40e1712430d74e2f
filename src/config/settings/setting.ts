import type { Clock, Machine, Steps } from '../../core/index.ts';
import type { ApiKeyLine } from '../../identity/auth/index.ts';
import type { ConfigFile, RawMap } from '../file/index.ts';
import type { KeptModels, RouteItems } from '../kept-parts.ts';
import type { LimitsConfig } from '../limits/index.ts';
import type { OwnRoute } from '../model/index.ts';
import type { PolicyConfig, PolicyKeys, Requirements } from '../policies/index.ts';
import type { RouteEntry } from '../routing/index.ts';
import type { Meaning } from '../values/index.ts';
import { means } from '../values/index.ts';

/** What is written elsewhere, for settings that depend on more than their own keys. */
export interface WrittenElsewhere {
  /** Returns the keys of another setting. */
  written<Keys extends PolicyKeys>(other: { readonly keys: Keys }): PolicyConfig<Keys>;
  /** What the routes require of tokens. */
  readonly requirements: Requirements;
  /** The fields for verified client certificates: empty if no listener asks for any. */
  readonly certificateFields: readonly string[];
}

/** What a setting may need to know about the rest of the configuration to compile. */
export interface SettingContext extends WrittenElsewhere {
  /** The name of gateway.yaml, to which the names of other files are relative. */
  readonly gatewayFile: string;
  /** What the process may use. */
  readonly machine: Machine;
  /** The content of the file that `limits` names. */
  readonly limits: LimitsConfig;
  /** The keys that it has under `global`, and those under its `classes`. */
  readonly namedGlobals: readonly string[];
  /** The content of the file that `api_keys` names. */
  readonly apiKeys: readonly ApiKeyLine[];
  /** The routes of gateway.yaml: `written(routes)` has only those that other settings depend on. */
  readonly routeItems: RouteItems;
  /** The gateway's own routes. */
  readonly ownRoutes: readonly RouteEntry<OwnRoute>[];
  /** All that routes may depend on besides their own text. */
  readonly common: unknown;
  /** The configuration before; `null` if there was none. */
  readonly before: KeptModels | null;
  /** Makes the part of another setting, once for all that ask, so that the order of settings does not matter. */
  compiled<Part extends Compiling>(other: Part): Steps<ModelOf<Part>>;
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
  /** Makes a part of the snapshot, in steps if there may be thousands of its items, or of those that it depends on. */
  compile(
    config: PolicyConfig<Keys>,
    context: SettingContext,
    secrets: NoInfer<Secrets>,
  ): Model | Steps<Model>;
  /** Makes the gateway's own routes that the keys ask for. Default: none. */
  ownRoutes?(
    config: PolicyConfig<Keys>,
    elsewhere: WrittenElsewhere,
    secrets: NoInfer<Secrets>,
  ): readonly RouteEntry<OwnRoute>[];
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

/** A setting, of which only what it becomes is of interest. */
interface Compiling {
  compile(...args: never): object;
}

/** What a setting becomes in a snapshot. */
export type ModelOf<Part extends Compiling> = Exclude<ReturnType<Part['compile']>, Steps<unknown>>;
