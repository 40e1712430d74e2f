import { dirname, isAbsolute, join } from 'node:path';
import { asMap, ConfigFile, type Diagnostic, type Environment, type Path, Readings } from './file/index.ts';
import { holdsLimits } from './holds-limits.ts';
import { loadTestedGateway, loadTestedLimits } from './load-tested.ts';
import type { Snapshot } from './model/index.ts';
import { type TestConfig, testJsonSchema, testSchema, testSecrecy, validate } from './schema/index.ts';

export type LoadedTest =
  | {
      readonly ok: true;
      readonly tests: TestConfig['tests'];
      /** What they test. */
      readonly snapshot: Snapshot;
      /** A diagnostic about the value at this path. */
      errorAt(path: Path, message: string): Diagnostic;
    }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

/** Reads a file of `weir test` and the configuration that it names. */
export async function loadTest(path: string, env: Environment): Promise<LoadedTest> {
  const file = await ConfigFile.read(path, env, new Readings(), testSecrecy);
  if (holdsLimits(file.value)) {
    file.add([], 'this is a limits file: name a file of tests, which may name this one under "limits"');
    return { ok: false, diagnostics: file.diagnostics };
  }
  const { upstreams, tests: written } = asMap(file.value);
  if (upstreams !== undefined && written === undefined) {
    file.add([], 'this is a gateway.yaml: name a file of tests, which may name this one under "gateway"');
    return { ok: false, diagnostics: file.diagnostics };
  }
  const config = validate(file, testSchema, testJsonSchema);
  if (config === undefined || file.hasErrors) return { ok: false, diagnostics: file.diagnostics };
  const named = (name: string) => (isAbsolute(name) ? name : join(dirname(path), name));
  const { gateway, limits, tests } = config;
  const loaded =
    gateway === undefined
      ? await loadTestedLimits(named(limits ?? 'limits.yaml'), servicesIn(tests), env)
      : await loadTestedGateway(named(gateway), limits === undefined ? null : named(limits), env);
  if (!loaded.ok) return loaded;
  const errorAt = (at: Path, message: string): Diagnostic => ({
    file: path,
    ...file.place(at),
    message,
    severity: 'error',
  });
  return { ok: true, tests, snapshot: loaded.snapshot, errorAt };
}

const CALL = /^GRPC \/([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\/[A-Za-z_]\w*$/;

/** The services of gRPC that the tests call. */
function servicesIn(tests: TestConfig['tests']): ReadonlySet<string> {
  const sent = tests.flatMap(({ requests }) => requests.map(({ send }) => CALL.exec(send)?.[1]));
  return new Set(sent.filter(service => service !== undefined));
}
