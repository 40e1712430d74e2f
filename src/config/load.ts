import { type Clock, systemClock } from '../core/index.ts';
import { checkLimits, crossCheck } from './check/index.ts';
import { settingsOf } from './compare/index.ts';
import {
  authenticationWithoutSecrets,
  compileGateway,
  readLimits,
  readSecrets,
  withoutSecrets,
} from './compile/index.ts';
import { EffectiveConfig } from './effective-config.ts';
import { errorsBesideSecrets, errorsOf } from './errors-beside-secrets.ts';
import {
  ConfigFile,
  type Diagnostic,
  type Environment,
  type FilePlace,
  KeyPlaces,
  Readings,
  withLeanHeap,
} from './file/index.ts';
import { holdsLimits } from './holds-limits.ts';
import type { Snapshot } from './model/index.ts';
import { gatewayJsonSchema, gatewaySchema, gatewaySecrecy, validate } from './schema/index.ts';

export interface LoadOptions {
  /** The variables that `${NAME}` in the files refers to. */
  readonly env: Environment;
  /** The generation of the new snapshot, from 1. */
  readonly generation: number;
  /**
   * Nobody will use the secrets and certificates: their variables may be unset and their files missing. The snapshot has none of
   * them then. Default: false.
   */
  readonly mayLackSecrets?: boolean;
  /** Tells how long certificates are still valid. Default: the world's. */
  readonly clock?: Clock;
}

/** A valid configuration. */
export interface LoadedConfig {
  readonly ok: true;
  readonly snapshot: Snapshot;
  /** gateway.yaml, then the limits files if it names any. */
  readonly files: readonly string[];
  readonly readings: Readings;
  readonly warnings: readonly Diagnostic[];
  /** What the operator may want to know, though nothing is wrong. */
  readonly hints: readonly Diagnostic[];
}

export type LoadResult =
  | LoadedConfig
  /** At least one error, and possibly warnings; file by file, in file order. */
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[]; readonly readings: Readings };

/**
 * Reads, checks and compiles gateway.yaml and the files it names. Reports all errors at once and never throws because of a
 * file's content. The files form one configuration: an error in one keeps all from being used.
 */
export function loadConfig(path: string, options: LoadOptions): Promise<LoadResult> {
  return withLeanHeap(() => load(path, options));
}

async function load(path: string, options: LoadOptions): Promise<LoadResult> {
  const readings = new Readings();
  const file = await ConfigFile.read(path, options.env, readings, gatewaySecrecy);
  if (holdsLimits(file.value)) {
    file.add([], 'this is a limits file: name the gateway.yaml that refers to it under "limits"');
    return { ok: false, diagnostics: file.diagnostics, readings };
  }
  const gateway = validate(file, gatewaySchema, gatewayJsonSchema);
  crossCheck(file);
  const { clock = systemClock } = options;
  const secrets = await readSecrets(file, clock);
  const { limits, files: limitsFiles } = await readLimits(file, options.env);
  if (limitsFiles !== null) checkLimits(limitsFiles, file);
  const names = [file, ...(limitsFiles?.files ?? [])].map(({ name }) => name);
  const { mayLackSecrets = false } = options;
  const errors = mayLackSecrets ? errorsBesideSecrets(file) : errorsOf(file);
  const others = file.diagnostics.filter(({ severity }) => severity !== 'error');
  const diagnostics = [
    ...(mayLackSecrets ? [...errors, ...others] : file.diagnostics),
    ...(limitsFiles?.files ?? []).flatMap(each => each.diagnostics),
  ];
  const isSound = errors.length === 0 && limitsFiles?.hasErrors !== true;
  if (gateway === undefined || limits === undefined || !isSound) return invalid(diagnostics, readings);
  const read = mayLackSecrets ? withoutSecrets(gateway, authenticationWithoutSecrets) : secrets;
  if (read.store === null) return invalid(diagnostics, readings);
  const sources = {
    gateway,
    limits,
    ...read,
    store: read.store,
    settings: settingsOf(file, gateway),
    effective: EffectiveConfig.of(file, limitsFiles),
    places: { routes: routePlaces(file, gateway.routes.length), limits: new KeyPlaces(limitsFiles) },
    hash: readings.hash,
    files: names,
  };
  return {
    ok: true,
    snapshot: compileGateway(sources, options.generation),
    files: names,
    readings,
    warnings: diagnostics.filter(({ severity }) => severity === 'warning'),
    hints: diagnostics.filter(({ severity }) => severity === 'hint'),
  };
}

function invalid(diagnostics: readonly Diagnostic[], readings: Readings): LoadResult {
  return { ok: false, diagnostics: diagnostics.filter(({ severity }) => severity !== 'hint'), readings };
}

function routePlaces(file: ConfigFile, count: number): FilePlace[] {
  const lineOf = (index: number) => file.place(['routes', index]).line;
  return Array.from({ length: count }, (_, index) => ({ file: file.name, line: lineOf(index) }));
}
