import type { RoutePattern } from '../routing/index.ts';
import { checkLimits } from './check/index.ts';
import { compileLimits, readLimitsAlone } from './compile/index.ts';
import type { Diagnostic, Environment } from './file/index.ts';
import type { LimitsModel } from './model/index.ts';

/** Limits that were read without their gateway.yaml. */
export type LimitsResult =
  | {
      readonly ok: true;
      readonly limits: LimitsModel;
      /** Of the lines of `routes:`, in file order. */
      readonly patterns: readonly RoutePattern[];
      /** Warnings and hints. */
      readonly diagnostics: readonly Diagnostic[];
    }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

/** Reads, checks and compiles limits.yaml, or a folder of such files. How it fits a gateway.yaml is not checked. */
export async function loadLimits(path: string, env: Environment): Promise<LimitsResult> {
  const { limits, files } = await readLimitsAlone(path, env);
  if (files !== null) checkLimits(files, null);
  const diagnostics = files?.files.flatMap(file => file.diagnostics) ?? [];
  if (limits === undefined || files === null || files.hasErrors) return { ok: false, diagnostics };
  const { model, routes } = compileLimits(limits);
  return { ok: true, limits: model, patterns: routes.map(({ pattern }) => pattern), diagnostics };
}
