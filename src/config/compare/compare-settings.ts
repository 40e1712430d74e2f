import { digestOf } from '../../core/index.ts';
import type { Effect, WeighedChange } from '../difference.ts';
import { asList, asMap, type ConfigFile, formatPath, isMap, type Path } from '../file/index.ts';
import { type GatewayConfig, gatewaySchema } from '../settings/index.ts';
import type { Outline, OutlineSetting } from '../snapshot.ts';
import { type Meaning, marksOf, meaningAt } from '../values/index.ts';

type Settings = Outline['settings'];

/**
 * Compares the settings of two gateway.yaml files, without routes, limits and classes of callers. Adding or removing a map counts
 * as one change.
 */
export function compareSettings(now: Settings, before: Settings): WeighedChange[] {
  const [mapsNow, mapsBefore] = [mapsIn(now), mapsIn(before)];
  const paths = new Map(
    [...before.values(), ...now.values()].flatMap(setting => {
      const path = sharedPath(setting.path, mapsNow, mapsBefore);
      return [[formatPath(path), path] as const];
    }),
  );
  return [...paths].flatMap(([subject, path]) => {
    const [value, old] = [now.get(subject), before.get(subject)];
    if (value !== undefined && value.digest === old?.digest) return [];
    const meaning = meaningOf(path);
    if (isComparedApart(meaning)) return [];
    const show = (setting: OutlineSetting | undefined, maps: ReadonlySet<string>) =>
      setting === undefined ? (maps.has(subject) ? 'a map' : 'not set') : setting.shown;
    const text = textOf(show(value, mapsNow), show(old, mapsBefore));
    return [{ subject, ...effectOf(meaning, value, old), text }];
  });
}

/** Returns the paths of maps: the paths that contain other paths. */
function mapsIn(settings: Settings): ReadonlySet<string> {
  return new Set(
    Array.from(settings.values(), ({ path }) =>
      path.map((_, length) => formatPath(path.slice(0, length))),
    ).flat(),
  );
}

/** Shortens a path to its first part that is not a map on both sides. */
function sharedPath(path: Path, now: ReadonlySet<string>, before: ReadonlySet<string>): Path {
  const isShared = (above: string) => now.has(above) && before.has(above);
  const length = path.findIndex((_, at) => at > 0 && !isShared(formatPath(path.slice(0, at))));
  return length === -1 ? path : path.slice(0, length);
}

/** Describes the values now and before; `null` is a value that is not shown. */
function textOf(now: string | null, before: string | null): string {
  if (now === null && before === null) return 'another value, which is not shown';
  return `${now ?? 'a value that is not shown'}, before ${before ?? 'one that is not shown'}`;
}

function effectOf(
  meaning: Meaning | null,
  now: OutlineSetting | undefined,
  before: OutlineSetting | undefined,
): { readonly effect: Effect; readonly left: number } {
  if (meaning === 'door') return { effect: 'mixed', left: 0 };
  const [size, old] = [now?.size ?? null, before?.size ?? null];
  if (meaning !== 'maximum' || size === null || old === null || size === old)
    return { effect: 'neutral', left: 1 };
  return { effect: size < old ? 'stricter' : 'looser', left: size / old };
}

function meaningOf(path: Path): Meaning | null {
  return meaningAt(gatewaySchema, path.map(String));
}

function isComparedApart(meaning: Meaning | null): boolean {
  return meaning === 'byRoute' || meaning === 'byLimit' || meaning === 'byClass';
}

/** Returns the settings of a valid gateway.yaml, without the keys that are compared in other ways as a whole, such as its routes. */
export function settingsOf(file: ConfigFile, gateway: GatewayConfig): Outline['settings'] {
  const settings = new Map<string, OutlineSetting>();
  const add = (path: Path, value: unknown, named = path): void => {
    const isLeaf = !isMap(value) || (file.has(path) && !isMap(file.valueAt(path)));
    if (isLeaf) settings.set(formatPath(named), { path: named, ...settingOf(file, path, value) });
    else for (const [key, part] of Object.entries(value)) add([...path, key], part, [...named, key]);
  };
  for (const [key, schema] of Object.entries(gatewaySchema.shape)) {
    const value: unknown = gateway[key as keyof GatewayConfig];
    const { entriesBy: name } = marksOf(schema);
    if (isComparedApart(meaningOf([key])) || value === undefined) continue;
    if (name === undefined) add([key], value);
    else
      for (const [index, entry] of asList(value).entries())
        add([key, index], entry, [key, String(asMap(entry)[name])]);
  }
  return settings;
}

function settingOf(file: ConfigFile, path: Path, value: unknown): Omit<OutlineSetting, 'path'> {
  const shown = file.has(path) ? shownIn(file, path) : 'the default';
  return { shown, digest: digestOf(JSON.stringify(value) ?? ''), size: sizeOf(value) };
}

/** Shows a value as written; `null` if it may be a secret, as any variable may. */
function shownIn(file: ConfigFile, path: Path): string | null {
  if (file.hides(path) || file.holdsVariable(path)) return null;
  const value = file.valueAt(path);
  if (isMap(value)) {
    const parts = Object.keys(value).map(key => [key, shownIn(file, [...path, key])] as const);
    const isWhole = parts.every(([, shown]) => shown !== null);
    return isWhole ? `{ ${parts.map(([key, shown]) => `${key}: ${shown}`).join(', ')} }` : null;
  }
  if (!Array.isArray(value)) return file.shown(path).replace(/^"(.*)"$/, '$1');
  const items = value.map((_, index) => shownIn(file, [...path, index]));
  return items.some(item => item === null) ? null : `[${items.join(', ')}]`;
}

/** Returns the number to compare. `null`, which represents `off` and the like, counts as larger than every number. */
function sizeOf(value: unknown): number | null {
  if (value === null) return Number.POSITIVE_INFINITY;
  return typeof value === 'number' ? value : null;
}
