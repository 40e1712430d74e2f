import type { RouteEntry } from '../routing/index.ts';
import { compileGateway } from './compile.ts';
import { ConfigFile } from './config-file.ts';
import { crossCheck } from './cross-checks.ts';
import type { Environment } from './environment.ts';
import { gatewaySchema } from './gateway-schema.ts';
import { gatewayJsonSchema } from './json-schema.ts';
import type { RouteModel, Snapshot } from './model.ts';
import type { Problem } from './problem.ts';
import { validate } from './validate.ts';

export interface LoadOptions {
  /** What `${NAME}` in the file stands for. */
  readonly env: Environment;
  /** The number of the snapshot to be made, from 1. */
  readonly generation: number;
}

/** A configuration without mistakes. */
export interface LoadedConfig {
  readonly ok: true;
  readonly snapshot: Snapshot;
  /** The routes in the order of the file. */
  readonly routes: readonly LoadedRoute[];
  readonly warnings: readonly Problem[];
}

export type LoadResult =
  | LoadedConfig
  /** At least one mistake; warnings may be among the problems. In the order of the file. */
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** A route together with its pattern and where it is written. */
export interface LoadedRoute extends RouteEntry<RouteModel> {
  readonly file: string;
  readonly line: number;
}

/** Reads, checks and compiles gateway.yaml. Never throws for what a file holds, and tells every mistake at once. */
export async function loadConfig(path: string, options: LoadOptions): Promise<LoadResult> {
  const file = await ConfigFile.read(path, options.env);
  const config = file.value === undefined ? undefined : validate(file, gatewaySchema, gatewayJsonSchema());
  crossCheck(file);
  if (config === undefined || file.hasMistakes) return { ok: false, problems: file.problems };
  const { snapshot, routes } = compileGateway(config, file.bytes, options.generation);
  return {
    ok: true,
    snapshot,
    routes: routes.map((route, index) => ({
      ...route,
      file: file.name,
      line: file.place(['routes', index]).line,
    })),
    warnings: file.problems,
  };
}
