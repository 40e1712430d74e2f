import { dirname, isAbsolute, join } from 'node:path';
import { ConfigFile, type Diagnostic, type Environment, type Path, Readings } from './file/index.ts';
import { loadLimits } from './load-limits.ts';
import type { LimitsModel } from './model/index.ts';
import { type TestConfig, testJsonSchema, testSchema, testSecrecy, validate } from './schema/index.ts';

export type LoadedTest =
  | {
      readonly ok: true;
      readonly tests: TestConfig['tests'];
      readonly limits: LimitsModel;
      /** A diagnostic about the value at this path. */
      errorAt(path: Path, message: string): Diagnostic;
    }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

/** Reads a file of `weir test` and the limits that it names. */
export async function loadTest(path: string, env: Environment): Promise<LoadedTest> {
  const file = await ConfigFile.read(path, env, new Readings(), testSecrecy);
  const config = validate(file, testSchema, testJsonSchema);
  if (config === undefined || file.hasErrors) return { ok: false, diagnostics: file.diagnostics };
  const named = isAbsolute(config.limits) ? config.limits : join(dirname(path), config.limits);
  const loaded = await loadLimits(named, env);
  if (!loaded.ok) return loaded;
  const errorAt = (at: Path, message: string): Diagnostic => ({
    file: path,
    ...file.place(at),
    message,
    severity: 'error',
  });
  return { ok: true, tests: config.tests, limits: loaded.limits, errorAt };
}
