import { join } from 'node:path';
import { z } from 'zod';
import { type Clock, type Files, type Machine, readMachine, thisMachine } from '../core/index.ts';
import type { RoutePattern } from '../gateway/routing/index.ts';
import { mostLimits } from '../limits/index.ts';
import type { AddressKeying } from '../wire/http/index.ts';
import { checkLimits, crossCheck, secretsIn } from './check/index.ts';
import { settingsOf } from './compare/index.ts';
import * as compile from './compile/index.ts';
import type { ConfigBytes, Diagnostic, Environment, FilePlace } from './file/index.ts';
import {
  asMap,
  ConfigContents,
  ConfigFile,
  formatDiagnostic,
  KeyPlaces,
  Readings,
  withLeanHeap,
} from './file/index.ts';
import { everyLimit, type HostPort, type LimitsModel, type Snapshot } from './model/index.ts';
import { fillAnsweredRoutes } from './policies/index.ts';
import * as schemas from './schema/index.ts';
import * as settings from './settings/index.ts';

const NAME_THE_GATEWAY = 'this is a limits file: name the gateway.yaml that refers to it under "limits"';

interface LoadOptions {
  /** The variables that `${NAME}` in the files refers to. */
  readonly env: Environment;
  /** The generation of the new snapshot, from 1. */
  readonly generation: number;
  /**
   * Whether secrets and certificates may be missing, in variables and files, because they will not be used. The snapshot then has
   * none. Default: false.
   */
  readonly mayLackSecrets?: boolean;
  /** How many counters the running gateway has room for. Default: as configured, as after a restart. */
  readonly limitKeys?: number;
  /** Used to check the validity of certificates. Default: this machine's. */
  readonly clock?: Clock;
  /** Where the files are. Default: on this machine. */
  readonly files?: Files;
  /**
   * What the process that will serve may use: defaults of caps depend on its memory. Default: what this process may, by its
   * `/proc`.
   */
  readonly machine?: Machine;
}

/** A valid configuration. */
export interface LoadedConfig {
  readonly ok: true;
  readonly snapshot: Snapshot;
  /** The files: gateway.yaml, then the limits files if it names any. */
  readonly files: readonly string[];
  readonly readings: Readings;
  /** The content of the files, for other threads. */
  readonly contents: ConfigBytes;
  /** What the process may use, which determined the defaults. */
  readonly machine: Machine;
  readonly warnings: readonly Diagnostic[];
  /** Hints: useful to know, though nothing is wrong. */
  readonly hints: readonly Diagnostic[];
}

export type LoadResult =
  | LoadedConfig
  /** Contains at least one error, and possibly warnings; file by file, in file order. */
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[]; readonly readings: Readings };

/**
 * Reads, checks and compiles gateway.yaml and the files it names. Reports all errors at once and never throws because of a file's
 * content. The files form one configuration: an error in one prevents the use of all.
 */
export function loadConfig(path: string, options: LoadOptions): Promise<LoadResult> {
  return withLeanHeap(() => load(path, options));
}

async function load(path: string, options: LoadOptions): Promise<LoadResult> {
  // A separate call: what it read can be collected while the rest is compiled, which takes the most memory.
  const contents = new ConfigContents();
  const read = await readSources(path, options, contents);
  read.readings.release();
  if (!read.ok) return read;
  const { sources, readings, machine } = read;
  const snapshot = compile.compileGateway(sources, options.generation);
  const tooMany = tooManyLimits(snapshot, options.limitKeys);
  if (tooMany !== null) return invalid([...read.diagnostics, tooMany], readings);
  const tooMuch = compile.memoryFinding(snapshot, read.writtenCaps);
  const diagnostics = tooMuch === null ? read.diagnostics : [...read.diagnostics, tooMuch];
  return {
    ok: true,
    snapshot,
    files: sources.files,
    readings,
    contents,
    machine,
    warnings: diagnostics.filter(({ severity }) => severity === 'warning'),
    hints: diagnostics.filter(({ severity }) => severity === 'hint'),
  };
}

/** The sources without errors. */
interface SoundSources {
  readonly ok: true;
  readonly sources: compile.Sources;
  readonly readings: Readings;
  readonly diagnostics: readonly Diagnostic[];
  readonly machine: Machine;
  readonly writtenCaps: ReturnType<typeof compile.writtenCaps>;
}

async function readSources(
  path: string,
  options: LoadOptions,
  contents: ConfigContents,
): Promise<SoundSources | Extract<LoadResult, { ok: false }>> {
  const readings = new Readings(options.files, contents);
  const file = await ConfigFile.read(path, options.env, readings, settings.gatewaySecrecy);
  if (holdsLimits(file.value)) {
    file.add([], NAME_THE_GATEWAY);
    return { ok: false, diagnostics: file.diagnostics, readings };
  }
  const { machine = await readMachine(options.files ?? thisMachine.files) } = options;
  fillAnsweredRoutes(file);
  settings.fillMemoryDefaults(file, machine);
  const gateway = schemas.validate(file, settings.gatewaySchema, schemas.gatewayJsonSchema);
  crossCheck(file);
  const { clock = thisMachine.clock } = options;
  const secrets = await settings.readSecrets(file, clock);
  const { limits, files: limitsFiles } = await compile.readLimits(file, options.env);
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
  const sources = {
    gateway,
    limits,
    secrets: mayLackSecrets ? settings.withoutSecrets(gateway) : secrets,
    machine,
    settings: settingsOf(file, gateway),
    effective: schemas.EffectiveConfig.of(file, limitsFiles),
    places: { routes: routePlaces(file, gateway.routes.length), limits: new KeyPlaces(limitsFiles) },
    hash: readings.hash,
    files: names,
  };
  return { ok: true, sources, readings, diagnostics, machine, writtenCaps: compile.writtenCaps(file) };
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
  const count = new Set(Array.from(everyLimit(model), ({ identity }) => identity)).size;
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

/** Limits read without their gateway.yaml. */
export type LimitsResult =
  | {
      readonly ok: true;
      readonly limits: LimitsModel;
      /** The patterns of the lines of `routes:`, in file order. */
      readonly patterns: readonly RoutePattern[];
      /** Warnings and hints. */
      readonly diagnostics: readonly Diagnostic[];
    }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

/** Reads, checks and compiles limits.yaml, or a folder of such files. Does not check whether it fits a gateway.yaml. */
export async function loadLimits(path: string, env: Environment): Promise<LimitsResult> {
  const { limits, files } = await compile.readLimitsAlone(path, env);
  const diagnostics = checkedAlone(files);
  if (limits === undefined || files === null || files.hasErrors) return { ok: false, diagnostics };
  const { model, routes } = compile.compileLimits(limits);
  return { ok: true, limits: model, patterns: routes.map(({ pattern }) => pattern), diagnostics };
}

/** The content of a file or folder named on the command line. */
export type Loaded =
  | { readonly kind: 'configuration'; readonly file: string; readonly config: LoadedConfig }
  | { readonly kind: 'limits'; readonly limits: schemas.LimitsConfig }
  | { readonly kind: 'invalid'; readonly diagnostics: readonly Diagnostic[] };

/**
 * Reads a gateway.yaml with the files it names, or limits on their own: a limits.yaml, or a folder of them. For a folder with a
 * gateway.yaml, reads that file. Secrets and certificates may be missing, because comparing configurations needs none.
 */
export async function loadGatewayOrLimits(path: string, env: Environment): Promise<Loaded> {
  const { stat } = thisMachine.files;
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory() !== true) return loadFile(path, env);
  const inside = join(path, 'gateway.yaml');
  const gateway = await stat(inside).catch(() => null);
  return gateway !== null ? loadFile(inside, env) : checked(await compile.readLimitsAlone(path, env));
}

async function loadFile(path: string, env: Environment): Promise<Loaded> {
  // Read once: it may be a pipe, such as <(git show HEAD:limits.yaml).
  const file = await ConfigFile.read(path, env, new Readings(), schemas.limitsSecrecy);
  if (file.value === undefined && file.hasErrors) return { kind: 'invalid', diagnostics: file.diagnostics };
  if (holdsLimits(file.value)) return checked(compile.readLimitsIn([file]));
  const config = await loadConfig(path, { env, generation: 1, mayLackSecrets: true });
  return config.ok
    ? { kind: 'configuration', file: path, config }
    : { kind: 'invalid', diagnostics: config.diagnostics };
}

/** Checks limits without their gateway.yaml, and returns the findings. */
function checkedAlone(files: compile.ReadLimits['files']): Diagnostic[] {
  if (files !== null) checkLimits(files, null);
  return files?.files.flatMap(({ diagnostics }) => diagnostics) ?? [];
}

function checked({ limits, files }: compile.ReadLimits): Loaded {
  const diagnostics = checkedAlone(files);
  if (limits !== undefined && files?.hasErrors === false) return { kind: 'limits', limits };
  return { kind: 'invalid', diagnostics: diagnostics.filter(({ severity }) => severity === 'error') };
}

/** Whether a file is limits.yaml and not gateway.yaml: it has only keys of limits.yaml, not just the common "routes". */
export function holdsLimits(value: unknown): boolean {
  const keys = Object.keys(asMap(value));
  const isOfLimits = (key: string) => Object.hasOwn(schemas.limitsSchema.shape, key);
  return keys.every(isOfLimits) && keys.some(key => !Object.hasOwn(settings.gatewaySchema.shape, key));
}

/** The errors of a gateway.yaml, except those about missing secrets: an unset variable, or a missing or wrong file. */
export function errorsBesideSecrets(file: ConfigFile): Diagnostic[] {
  const secrets = secretsIn(file)
    .filter(path => file.isVariable(path))
    .map(path => file.place(path));
  return errorsOf(file).filter(
    ({ line, column, isContent = false }) =>
      !isContent && !secrets.some(place => place.line === line && place.column === column),
  );
}

export function errorsOf({ diagnostics }: ConfigFile): Diagnostic[] {
  return diagnostics.filter(({ severity }) => severity === 'error');
}

/** The admin listener's address in a configuration. */
export type AdminPlace =
  | { readonly kind: 'listens'; readonly address: HostPort; readonly tls: boolean }
  | { readonly kind: 'off' }
  /** `message` describes the problems with the file, one per line. */
  | { readonly kind: 'unknown'; readonly message: string };

/**
 * Reads only `listen.admin`: mistakes elsewhere in the file, which a running gateway has not applied, do not matter. Never throws
 * because of a file's content.
 */
export async function readAdmin(path: string, env: Environment): Promise<AdminPlace> {
  const file = await ConfigFile.read(path, env, new Readings(), settings.gatewaySecrecy);
  if (file.value === undefined && !file.has(['listen', 'admin']) && file.hasErrors)
    return { kind: 'unknown', message: file.diagnostics.map(formatDiagnostic).join('\n') };
  if (holdsLimits(file.value))
    return {
      kind: 'unknown',
      message: `${path}: this is a limits file: name the gateway.yaml that refers to it`,
    };
  const admin = settings.listenSchema.shape.admin.safeParse(file.valueAt(['listen', 'admin']));
  if (!admin.success) return { kind: 'unknown', message: `${path}: listen.admin is not an address` };
  if (admin.data === null) return { kind: 'off' };
  return { kind: 'listens', address: admin.data.address, tls: admin.data.tls !== undefined };
}

/** How callers are identified, and named in the log. */
export type CallersResult =
  | {
      readonly ok: true;
      /** The claims that identify callers; empty if all callers are addresses. */
      readonly classes: readonly compile.CallerClaims[];
      /** The key for pseudonyms; `null` if each process makes its own. */
      readonly pseudonymKey: Buffer | null;
    }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

const { principal, bots } = settings.accessTokensSchema.shape;
const { name, issuer } = settings.providerEntrySchema.shape;
const schema = z.object({
  access_tokens: z.object({ principal, bots }).optional(),
  identity_providers: z.array(z.object({ name, issuer, principal, bots })).optional(),
  log: settings.pseudonymKeySchema,
});

/**
 * Reads only how callers are named: someone who searches the log needs neither the gateway's secrets nor the variables that
 * contain them. Never throws because of a file's content.
 */
export async function readCallers(path: string, env: Environment): Promise<CallersResult> {
  const file = await ConfigFile.read(path, env, new Readings(), settings.gatewaySecrecy);
  if (holdsLimits(file.value)) file.add([], NAME_THE_GATEWAY);
  const config = holdsLimits(file.value)
    ? undefined
    : schemas.validate(file, schema, schemas.gatewayJsonSchema);
  const pseudonymKey = await settings.readPseudonymKey(file);
  const isKeyMissing = pseudonymKey === null && file.has(settings.PSEUDONYM_KEY);
  if (config === undefined || isKeyMissing) return { ok: false, diagnostics: file.diagnostics };
  return { ok: true, classes: compile.claimsOf(config), pseudonymKey };
}

/** Which addresses count as one, or why it is unknown. */
export type KeyingResult =
  | { readonly ok: true; readonly keying: AddressKeying }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

/** Reads `ipv6_prefix` and `nat64_prefixes` of the limits that a gateway.yaml names. Never throws because of a file's content. */
export async function readKeying(path: string, env: Environment): Promise<KeyingResult> {
  const file = await ConfigFile.read(path, env, new Readings(), settings.gatewaySecrecy);
  if (holdsLimits(file.value)) file.add([], NAME_THE_GATEWAY);
  if (file.value === undefined || holdsLimits(file.value))
    return { ok: false, diagnostics: file.diagnostics };
  const { limits, files } = await compile.readLimits(file, env);
  if (limits !== undefined) return { ok: true, keying: compile.keyingOf(limits) };
  const diagnostics = [file, ...(files?.files ?? [])].flatMap(each => each.diagnostics);
  return { ok: false, diagnostics };
}
