import { type Clock, systemClock } from '../core/index.ts';
import type { RouteEntry } from '../routing/index.ts';
import { checkLimits, crossCheck } from './check/index.ts';
import { settingsOf } from './compare/index.ts';
import {
  compileGateway,
  readAdminToken,
  readLimits,
  readListenerTls,
  readProvider,
  readPseudonymKey,
  readStore,
  readUpstreamTls,
} from './compile/index.ts';
import {
  ConfigFile,
  type Diagnostic,
  type Environment,
  type LimitsFiles,
  Readings,
  withLeanHeap,
} from './file/index.ts';
import { holdsLimits } from './holds-limits.ts';
import type { LimitRouteModel, RouteModel, Snapshot } from './model/index.ts';
import { gatewayJsonSchema, gatewaySchema, gatewaySecrecy, validate } from './schema/index.ts';

export interface LoadOptions {
  /** The variables that `${NAME}` in the files refers to. */
  readonly env: Environment;
  /** The generation of the new snapshot, from 1. */
  readonly generation: number;
  /** Tells how long certificates are still valid. Default: the world's. */
  readonly clock?: Clock;
}

/** A valid configuration. */
export interface LoadedConfig {
  readonly ok: true;
  readonly snapshot: Snapshot;
  /** The routes in file order, then the gateway's own. */
  readonly routes: readonly LoadedRoute[];
  /** gateway.yaml, then the limits files if it names any. */
  readonly files: readonly string[];
  readonly readings: Readings;
  readonly limits: LoadedLimits;
  readonly warnings: readonly Diagnostic[];
  /** What the operator may want to know, though nothing is wrong. */
  readonly hints: readonly Diagnostic[];
}

export type LoadResult =
  | LoadedConfig
  /** At least one error, and possibly warnings; file by file, in file order. */
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[]; readonly readings: Readings };

/** A line of a file, as messages name it. */
export interface FilePlace {
  readonly file: string;
  readonly line: number;
}

/** A route with its pattern and where it is written. */
export interface LoadedRoute extends RouteEntry<RouteModel> {
  /** Null: the route is the gateway's own. */
  readonly place: FilePlace | null;
}

/** A line of `routes:` in limits.yaml. */
export interface LoadedLimitRoute extends RouteEntry<LimitRouteModel> {
  /** As it is written. */
  readonly line: string;
  readonly place: FilePlace | null;
}

/** Where the limits are written. */
export interface LoadedLimits {
  /** The lines of `routes:`, in file order. */
  readonly routes: readonly LoadedLimitRoute[];
  /** Where a key of limits.yaml is written; null: it is not, so its default applies. */
  placeOf(path: readonly string[]): FilePlace | null;
}

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
  const listenerTls = await readListenerTls(file, clock);
  const upstreamTls = await readUpstreamTls(file, clock);
  const provider = await readProvider(file, clock);
  const pseudonymKey = await readPseudonymKey(file);
  const adminTokenHash = await readAdminToken(file);
  const store = await readStore(file, clock);
  const { limits, files: limitsFiles } = await readLimits(file, options.env);
  if (limitsFiles !== null) checkLimits(limitsFiles, file);
  const files = [file, ...(limitsFiles?.files ?? [])];
  const names = files.map(({ name }) => name);
  const diagnostics = files.flatMap(each => each.diagnostics);
  if (gateway === undefined || limits === undefined || store === null || files.some(each => each.hasErrors))
    return { ok: false, diagnostics: diagnostics.filter(({ severity }) => severity !== 'hint'), readings };

  const sources = {
    gateway,
    limits,
    listenerTls,
    upstreamTls,
    provider,
    pseudonymKey,
    adminTokenHash,
    store,
    settings: settingsOf(file, gateway),
    hash: readings.hash,
    files: names,
  };
  const { snapshot, routes, ownRoutes, limitRoutes } = compileGateway(sources, options.generation);
  const written = routes.map((route, index) => ({
    ...route,
    place: { file: file.name, line: file.place(['routes', index]).line },
  }));
  return {
    ok: true,
    snapshot,
    routes: [...written, ...ownRoutes.map(route => ({ ...route, place: null }))],
    files: names,
    readings,
    limits: loadedLimits(limitRoutes, Object.keys(limits.routes), limitsFiles),
    warnings: diagnostics.filter(({ severity }) => severity === 'warning'),
    hints: diagnostics.filter(({ severity }) => severity === 'hint'),
  };
}

function loadedLimits(
  routes: readonly RouteEntry<LimitRouteModel>[],
  lines: readonly string[],
  files: LimitsFiles | null,
): LoadedLimits {
  const placeOf = (path: readonly string[]) => (files?.has(path) ? files.placeOf(path, 'key') : null);
  const written = routes.map((route, index) => {
    const line = lines[index] ?? '';
    return { ...route, line, place: placeOf(['routes', line]) };
  });
  return { routes: written, placeOf };
}
