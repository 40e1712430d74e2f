import {
  atOnce,
  type Clock,
  type Files,
  type Machine,
  readMachine,
  Turns,
  thisMachine,
} from '../core/index.ts';
import { mostLimits } from '../limits/index.ts';
import { checkKeyClasses, checkLimits, crossCheck } from './check/index.ts';
import { settingsOf } from './compare/index.ts';
import * as compile from './compile/index.ts';
import { type ConfigData, compileData, dataOf, type LoadedData } from './config-data.ts';
import type { Diagnostic, Environment, FilePlace } from './file/index.ts';
import {
  asMap,
  type ConfigFile,
  KeyPlaces,
  Readings,
  withFastHeap,
  withLeanHeap,
  withoutPipes,
} from './file/index.ts';
import { errorsExceptSecrets, errorsOf, readGateway } from './gateway-file.ts';
import { everyLimit } from './model/index.ts';
import * as schemas from './schema/index.ts';
import * as settings from './settings/index.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * What a configuration is read for:
 * - `gateway`: to serve, in this process, whose memory it should not make grow
 * - `thread`: to serve, in a thread that ends afterwards, with its memory; another thread compiles the data (`fromData`)
 * - `command`: for a command that ends soon. Reading is faster but leaves more memory in use, and no effective configuration is made
 */
export type Reader = 'gateway' | 'thread' | 'command';

const HEAPS: Readonly<Record<Reader, typeof withLeanHeap>> = {
  gateway: withLeanHeap,
  thread: run => run(),
  command: withFastHeap,
};

export interface LoadOptions {
  /** The environment variables to which `${NAME}` in the files refers. */
  readonly env: Environment;
  readonly generation: number;
  /** Whether secrets and certificates may be missing because they will not be used; the snapshot then has none. Default: false. */
  readonly mayLackSecrets?: boolean;
  /** Default: `'gateway'`. */
  readonly reader?: Reader;
  /** How many counters the running gateway has room for. Default: as configured, as after a restart. */
  readonly limitKeys?: number | undefined;
  /** Used to check the validity of certificates. Default: this machine's. */
  readonly clock?: Clock;
  /** Where the files are. Default: on this machine. */
  readonly files?: Files;
  /** The resources of the process that will serve, which defaults depend on. Default: those of this process, from its `/proc`. */
  readonly machine?: Machine | undefined;
  /** The configuration in use: parts that did not change are reused. Default: none. */
  readonly before?: Snapshot | null;
  /** Times the turns that loading takes in a serving thread. Default: this thread serves no clients, so nothing is timed. */
  readonly turns?: Turns;
}

export interface LoadedConfig {
  readonly ok: true;
  readonly snapshot: Snapshot;
  /** The files: gateway.yaml, then the limits files if it names any. */
  readonly files: readonly string[];
  readonly readings: Readings;
  /** The resources of the process, which determined the defaults. */
  readonly machine: Machine;
  readonly warnings: readonly Diagnostic[];
  /** Hints: useful to know, though nothing is wrong. */
  readonly hints: readonly Diagnostic[];
  /** For other threads to compile. */
  readonly data: ConfigData;
}

export type LoadResult =
  | LoadedConfig
  /** Contains at least one error, and possibly warnings; file by file, in file order. */
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[]; readonly readings: Readings };

/**
 * Reads, checks and compiles gateway.yaml and the files it names. Reports all errors at once, of invalid YAML the first, and never throws because of a file's
 * content. The files form one configuration: an error in one prevents the use of all.
 */
export function loadConfig(path: string, options: LoadOptions): Promise<LoadResult> {
  return HEAPS[options.reader ?? 'gateway'](() => load(path, options));
}

/** Compiles what another thread loaded into what `loadConfig` returns. */
export async function fromData(
  loaded: LoadedData,
  { generation, files, before = null, turns = new Turns() }: LoadOptions,
): Promise<LoadResult> {
  const readings = Readings.from(loaded.readings, files);
  if (!loaded.ok) return { ...loaded, readings };
  const { data } = loaded;
  turns.longestMs = 0;
  const snapshot = await turns.slice(compileData(data, generation, before));
  const { machine, files: names } = data.head;
  return { ...loaded, snapshot, files: names, machine, readings };
}

async function load(path: string, options: LoadOptions): Promise<LoadResult> {
  // In a separate call, so that garbage from reading can be collected while the rest is compiled, which takes the most memory.
  const read = await readSources(path, options);
  if (!read.ok) return read;
  const { data, readings } = read;
  const compiling = compileData(data, options.generation, options.before ?? null);
  const { turns } = options;
  if (turns !== undefined) turns.longestMs = 0;
  const snapshot = turns === undefined ? atOnce(compiling) : await turns.slice(compiling);
  const tooMany = tooManyLimits(snapshot, options.limitKeys);
  if (tooMany !== null) return invalid([...read.diagnostics, tooMany], readings);
  const diagnostics = [...read.diagnostics, ...compile.capFindings(snapshot, read.writtenCaps)];
  return {
    ok: true,
    snapshot,
    files: data.head.files,
    readings,
    machine: data.head.machine,
    warnings: diagnostics.filter(({ severity }) => severity === 'warning'),
    hints: diagnostics.filter(({ severity }) => severity === 'hint'),
    data,
  };
}

interface SoundSources {
  readonly ok: true;
  readonly data: ConfigData;
  readonly readings: Readings;
  readonly diagnostics: readonly Diagnostic[];
  readonly writtenCaps: ReturnType<typeof compile.writtenCaps>;
}

async function readSources(
  path: string,
  options: LoadOptions,
): Promise<SoundSources | Extract<LoadResult, { ok: false }>> {
  // Only the first configuration may come from a pipe such as /dev/stdin.
  const isReload = options.generation > 1;
  const { files = thisMachine.files } = options;
  const readings = new Readings(isReload ? withoutPipes(files) : files);
  const { file, isLimits } = await readGateway(path, options.env, readings);
  if (isLimits) return { ok: false, diagnostics: file.diagnostics, readings };
  const { machine = await readMachine(files) } = options;
  settings.fillDefaults(file, machine);
  const gateway = schemas.validate(file, settings.gatewaySchema);
  crossCheck(file);
  const { clock = thisMachine.clock } = options;
  const secrets = await settings.readSecrets(file, clock);
  const { limits, files: limitsFiles } = await compile.readLimits(file, options.env);
  const { lines, file: keysFile } = await compile.readApiKeys(file, clock);
  if (limitsFiles !== null) checkLimits(limitsFiles, file, keysFile);
  if (keysFile !== null) checkKeyClasses(keysFile, file);
  const names = [file, ...(limitsFiles?.files ?? [])].map(({ name }) => name);
  const { mayLackSecrets = false } = options;
  const errors = mayLackSecrets ? errorsExceptSecrets(file) : errorsOf(file);
  const others = file.diagnostics.filter(({ severity }) => severity !== 'error');
  const diagnostics = [
    ...(mayLackSecrets ? [...errors, ...others] : file.diagnostics),
    ...(limitsFiles?.files ?? []).flatMap(each => each.diagnostics),
    ...(keysFile?.diagnostics ?? []),
  ];
  const isSound = [...errors, ...(keysFile === null ? [] : errorsOf(keysFile))].length === 0;
  if (gateway === undefined || limits === undefined || !isSound || limitsFiles?.hasErrors === true)
    return invalid(diagnostics, readings);
  const sources = {
    gateway,
    limits,
    // Without the file, which may be missing where secrets may.
    apiKeys: lines ?? [],
    secrets: mayLackSecrets ? settings.withoutSecrets(gateway) : secrets,
    machine,
    settings: settingsOf(file, gateway),
    effective:
      options.reader === 'command'
        ? schemas.EffectiveConfig.ofParts({})
        : schemas.EffectiveConfig.of(file, limitsFiles),
    places: { routes: routePlaces(file, gateway.routes.length), limits: KeyPlaces.in(limitsFiles) },
    namedGlobals: namedGlobals(limitsFiles?.value),
    hash: readings.hash,
    files: names,
  };
  return { ok: true, data: dataOf(sources), readings, diagnostics, writtenCaps: compile.writtenCaps(file) };
}

function namedGlobals(limits: unknown): string[] {
  const { classes, ...others } = asMap(asMap(limits).global);
  return [...Object.keys(others), ...Object.keys(asMap(classes))];
}

/**
 * Returns an error if a configuration has too many limits.
 *
 * @param runningKeys how many counters the running gateway has room for
 */
function tooManyLimits(
  { limits: model, caps: { limitKeys }, files }: Snapshot,
  runningKeys = limitKeys,
): Diagnostic | null {
  const count = new Set(everyLimit(model).map(({ identity }) => identity)).size;
  const fitsAfterRestart = count <= mostLimits(limitKeys);
  const keys = fitsAfterRestart ? runningKeys : limitKeys;
  if (count <= mostLimits(keys)) return null;
  const couldFit = count <= mostLimits(Number.POSITIVE_INFINITY);
  const otherwise = fitsAfterRestart
    ? ', or restart the gateway'
    : couldFit
      ? ', or raise caps.limit_keys'
      : '';
  const message = `there are ${count} limits, and with room for ${keys} counters there may be ${mostLimits(keys)}: write fewer${otherwise}`;
  return { file: files[1] ?? files[0] ?? '', line: null, column: null, message, severity: 'error' };
}

function invalid(diagnostics: readonly Diagnostic[], readings: Readings): Extract<LoadResult, { ok: false }> {
  return { ok: false, diagnostics: diagnostics.filter(({ severity }) => severity !== 'hint'), readings };
}

function routePlaces(file: ConfigFile, count: number): FilePlace[] {
  const lineOf = (index: number) => file.place(['routes', index]).line;
  return Array.from({ length: count }, (_, index) => ({ file: file.name, line: lineOf(index) }));
}
