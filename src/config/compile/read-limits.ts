import { dirname, isAbsolute, join, resolve } from 'node:path';
import { asMap, ConfigFile, type Environment, LimitsFiles, listYamlFiles, Readings } from '../file/index.ts';
import { type LimitsConfig, limitsSchema } from '../limits/index.ts';
import { validate } from '../schema/index.ts';
import { limitsSecrecy } from '../settings/index.ts';

export interface ReadLimits {
  /** The limits; `undefined` if the files are invalid or unreadable. */
  readonly limits: LimitsConfig | undefined;
  /** The files; `null` if gateway.yaml names none, so that the defaults apply, or if none can be read. */
  readonly files: LimitsFiles | null;
}

const NOTHING: ReadLimits = { limits: undefined, files: null };

/** Reads the file that `limits` of gateway.yaml names, or all `*.yaml` of that folder. Reports there if it is missing. */
export async function readLimits(gateway: ConfigFile, environment: Environment): Promise<ReadLimits> {
  const { limits: name = 'none' } = asMap(gateway.value);
  if (name === 'none') return { limits: limitsSchema.parse({}), files: null };
  // Validation reports any other type.
  if (typeof name !== 'string' || name === '') return NOTHING;
  const path = siblingOf(gateway.name, name);
  if (resolve(path) === resolve(gateway.name)) {
    gateway.add(['limits'], 'this names the file itself: put limits into a file of their own');
    return NOTHING;
  }
  const names = await listYamlFiles(path, gateway.readings.files);
  return names === null ? readOne(gateway, path, environment) : readFolder(gateway, path, names, environment);
}

async function readOne(gateway: ConfigFile, path: string, environment: Environment): Promise<ReadLimits> {
  const file = await ConfigFile.read(path, environment, gateway.readings, limitsSecrecy);
  if (file.unreadable !== null) {
    const { message, reason } = file.unreadable;
    gateway.add(['limits'], gateway.holdsVariable(['limits']) ? reason : message);
    return NOTHING;
  }
  if (holdsGateway(file)) {
    gateway.add(['limits'], 'this file is a gateway.yaml: put limits into a file of their own');
    return NOTHING;
  }
  return { limits: validate(file, limitsSchema), files: new LimitsFiles([file]) };
}

async function readFolder(
  gateway: ConfigFile,
  folder: string,
  names: readonly string[],
  environment: Environment,
): Promise<ReadLimits> {
  gateway.readings.noteFolder(folder, names);
  await warnOfOthers(gateway, folder);
  if (names.length === 0) {
    gateway.add(['limits'], 'this folder contains no *.yaml file');
    return NOTHING;
  }
  return readAll(
    names.map(name => join(folder, name)),
    environment,
    gateway.readings,
  );
}

/** Reads limits without the gateway.yaml that names them: a file, or all `*.yaml` of a folder. */
export async function readLimitsAlone(path: string, environment: Environment): Promise<ReadLimits> {
  const readings = new Readings();
  const names = await listYamlFiles(path, readings.files);
  const paths = names === null || names.length === 0 ? [path] : names.map(name => join(path, name));
  return readAll(paths, environment, readings);
}

async function readAll(
  paths: readonly string[],
  environment: Environment,
  readings: Readings,
): Promise<ReadLimits> {
  const files: ConfigFile[] = [];
  for (const path of paths) files.push(await ConfigFile.read(path, environment, readings, limitsSecrecy));
  return readLimitsIn(files);
}

/** Validates files that were already read. */
export function readLimitsIn(files: readonly ConfigFile[]): ReadLimits {
  const [only, ...others] = files;
  if (only !== undefined && others.length === 0 && holdsGateway(only)) {
    only.add([], `this is a gateway.yaml: ${limitsNamedIn(only)}`);
    return { limits: undefined, files: new LimitsFiles([only]) };
  }
  // Validates each file on its own, so that errors have its line numbers.
  for (const file of files) validate(file, limitsSchema);
  const together = new LimitsFiles(files);
  const limits =
    together.hasErrors || together.value === undefined ? undefined : limitsSchema.parse(together.value);
  return { limits, files: together };
}

/** Whether a file is a gateway.yaml, not a limits.yaml with a key of the other: its routes are a list, and it has upstreams. */
function holdsGateway({ value }: ConfigFile): boolean {
  const { routes, upstreams, buckets } = asMap(value);
  return upstreams !== undefined && buckets === undefined && Array.isArray(routes);
}

function limitsNamedIn(gateway: ConfigFile): string {
  const { limits } = asMap(gateway.value);
  return typeof limits === 'string' && limits !== 'none' && !gateway.holdsVariable(['limits'])
    ? `name the limits that it refers to, ${siblingOf(gateway.name, limits)}`
    : 'name a limits.yaml';
}

/** Warns about *.yml files, which people expect to be read. */
async function warnOfOthers(gateway: ConfigFile, folder: string): Promise<void> {
  const entries = await gateway.readings.files.readdir(folder).catch((): string[] => []);
  const others = entries.filter(name => /^[^.].*\.yml$/.test(name));
  for (const name of others) {
    gateway.warn(['limits'], `"${name}" in this folder is ignored: only *.yaml files are read`);
  }
}

/** Joins names as the operator would: `config/gateway.yaml` and `limits.yaml` make `config/limits.yaml`. */
export function siblingOf(gateway: string, name: string): string {
  return isAbsolute(name) ? name : join(dirname(gateway), name);
}
