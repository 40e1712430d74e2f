import type { Steps } from '../core/index.ts';
import * as compile from './compile/index.ts';
import { itemsIn, readItems, writeItems } from './config-items.ts';
import { type Diagnostic, KeyPlaces, type ReadingsData } from './file/index.ts';
import type { LimitsConfig } from './limits/index.ts';
import { EffectiveConfig } from './schema/index.ts';
import type { RouteConfig } from './settings/index.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * A configuration that was read and checked, in the one form in which it is compiled and passed to other threads. They compile it,
 * in slices, and reuse what they have compiled before. Contains the secrets.
 */
export interface ConfigData {
  readonly head: DataHead;
  /** The parts with possibly thousands of items, in file order. */
  readonly routes: Uint8Array;
  readonly buckets: Uint8Array;
  readonly lines: Uint8Array;
}

/** All parts except those with possibly thousands of items. */
interface DataHead extends Omit<compile.Sources, 'limits' | 'items' | 'effective' | 'places'> {
  readonly limits: Omit<LimitsConfig, 'buckets' | 'routes'>;
  /** For threads that explain and compare configurations. */
  readonly shown: {
    readonly effective: Uint8Array;
    readonly limitPlaces: string;
    readonly routeLines: readonly number[];
  } | null;
}

export type LoadedData =
  | {
      readonly ok: true;
      readonly data: ConfigData;
      readonly readings: ReadingsData;
      readonly warnings: readonly Diagnostic[];
      readonly hints: readonly Diagnostic[];
    }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[]; readonly readings: ReadingsData };

export function dataOf({
  gateway,
  limits,
  effective,
  places,
  ...rest
}: Omit<compile.Sources, 'items'>): ConfigData {
  const { routes } = gateway;
  const { buckets, routes: lines, ...otherLimits } = limits;
  const shown = {
    effective: effective.deflated,
    limitPlaces: places.limits.text,
    routeLines: places.routes.map(({ line }) => line),
  };
  return {
    head: { ...rest, gateway: { ...gateway, routes: oneOfEach(routes) }, limits: otherLimits, shown },
    routes: writeItems(routes),
    buckets: writeItems(Object.entries(buckets)),
    lines: writeItems(Object.entries(lines)),
  };
}

/** The routes that settings depend on: one for each combination of requirement and edited fields. */
function oneOfEach(routes: readonly RouteConfig[]): RouteConfig[] {
  const kinds = new Map<string, RouteConfig>();
  for (const route of routes) {
    const { require, request_headers: edits } = route;
    if (require === undefined && edits === undefined) continue;
    const kind = JSON.stringify([require, edits]);
    if (!kinds.has(kind)) kinds.set(kind, route);
  }
  return [...kinds.values()];
}

/** The same data for threads that neither explain nor compare. */
export function withoutTexts(data: ConfigData): ConfigData {
  return { ...data, head: { ...data.head, shown: null } };
}

/**
 * Compiles a configuration.
 *
 * @param before the configuration in use: parts that did not change are reused
 */
export function* compileData(
  { head, routes, ...data }: ConfigData,
  generation: number,
  before: Snapshot | null,
): Steps<Snapshot> {
  const known = before?.kept.items;
  const items = {
    buckets: yield* readItems(data.buckets, known?.buckets),
    lines: yield* readItems(data.lines, known?.lines),
  };
  const sources: compile.Sources = {
    ...head,
    limits: { ...head.limits, buckets: items.buckets.byName, routes: items.lines.byName },
    items: { ...items, routes: { bytes: routes, all: () => itemsIn(routes) } },
    secrets: withBuffers(head.secrets),
    ...shownOf(head),
  };
  return yield* compile.compileGateway(sources, generation, before);
}

function shownOf({ shown, files }: DataHead): Pick<compile.Sources, 'effective' | 'places'> {
  if (shown === null)
    return { effective: NOTHING_SHOWN, places: { routes: [], limits: new KeyPlaces('[]') } };
  const [file = ''] = files;
  return {
    effective: new EffectiveConfig(shown.effective),
    places: {
      routes: shown.routeLines.map(line => ({ file, line })),
      limits: new KeyPlaces(shown.limitPlaces),
    },
  };
}

const NOTHING_SHOWN = EffectiveConfig.ofParts({});

/** Turns arrays of bytes back into Buffers: passing a Buffer to another thread makes it a plain array. */
function withBuffers<Value>(value: Value): Value {
  if (value instanceof Uint8Array) return Buffer.from(value) as unknown as Value;
  if (Array.isArray(value)) return value.map(withBuffers) as Value;
  const isPlain =
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withBuffers(part)])) as Value;
}
