import { digestOf } from '../../core/index.ts';
import { type ConfigFile, formatPath, isMap, type Path } from '../file/index.ts';
import type { Outline, Setting } from '../model/index.ts';
import type { GatewayConfig } from '../schema/index.ts';

/** Lists the settings of a valid gateway.yaml. Its routes and limits are compared by themselves. */
export function settingsOf(file: ConfigFile, gateway: GatewayConfig): Outline['settings'] {
  const settings = new Map<string, Setting>();
  const add = (path: Path, value: unknown): void => {
    const isLeaf = !isMap(value) || (file.has(path) && !isMap(file.valueAt(path)));
    if (isLeaf) settings.set(subjectOf(path, gateway), settingOf(file, path, value));
    else for (const [key, part] of Object.entries(value)) add([...path, key], part);
  };
  const { routes: _, limits: __, ...others } = gateway;
  const { identity_providers: providers = [], ...single } = others;
  for (const [key, value] of Object.entries(single)) add([key], value);
  for (const [index, provider] of providers.entries()) add(['identity_providers', index], provider);
  return settings;
}

/** A provider is compared by its name, wherever it stands in the list. */
function subjectOf(path: Path, { identity_providers: providers = [] }: GatewayConfig): string {
  const [section, index, ...keys] = path;
  const name = section === 'identity_providers' ? providers[Number(index)]?.name : undefined;
  return formatPath(name === undefined ? path : ['identity_providers', name, ...keys]);
}

function settingOf(file: ConfigFile, path: Path, value: unknown): Setting {
  const shown = file.has(path) ? shownIn(file, path) : 'the default';
  return { shown, digest: digestOf(JSON.stringify(value) ?? ''), size: sizeOf(value) };
}

/** Null: a value that may be a secret, which includes every variable. */
function shownIn(file: ConfigFile, path: Path): string | null {
  if (file.hides(path) || file.holdsVariable(path)) return null;
  const value = file.valueAt(path);
  if (!Array.isArray(value)) return file.shown(path).replace(/^"(.*)"$/, '$1');
  const items = value.map((_, index) => shownIn(file, [...path, index]));
  return items.some(item => item === null) ? null : `[${items.join(', ')}]`;
}

/** `off` and the like, for times and numbers read as null, is beyond every number. */
function sizeOf(value: unknown): number | null {
  if (value === null) return Number.POSITIVE_INFINITY;
  return typeof value === 'number' ? value : null;
}
