import { isSame, type Steps } from '../core/index.ts';
import * as compile from './compile/index.ts';
import { type ConfigBytes, type Diagnostic, KeyPlaces, type ReadingsData } from './file/index.ts';
import type { Snapshot } from './model/index.ts';
import { EffectiveConfig, type LimitsConfig } from './schema/index.ts';
import type { GatewayConfig, Secrets } from './settings/index.ts';

/**
 * A configuration as one thread has read and checked it, in a form that can be passed to others. These compile it, in slices, and
 * take over what they have compiled before. Contains its secrets.
 */
export interface ConfigData {
  readonly head: DataHead;
  /** Its routes, buckets and lines, in order. */
  readonly pieces: readonly DataPiece[];
}

/** All but what there may be thousands of. */
interface DataHead {
  readonly gateway: Omit<GatewayConfig, 'routes'>;
  readonly limits: Omit<LimitsConfig, 'buckets' | 'routes'>;
  readonly secrets: Secrets;
  readonly rest: Omit<compile.Sources, 'gateway' | 'limits' | 'secrets' | 'effective' | 'places'>;
  /** For those who explain and compare configurations. */
  readonly shown: {
    readonly effective: Uint8Array;
    readonly limitPlaces: string;
    readonly routeLines: readonly number[];
  } | null;
}

/** Items of one kind, each as JSON: a message of at most about 200 KB. */
export interface DataPiece {
  readonly kind: 'routes' | 'buckets' | 'lines';
  readonly texts: readonly string[];
}

/** What a load found, as data. */
export type LoadedData =
  | {
      readonly ok: true;
      readonly data: ConfigData;
      readonly readings: ReadingsData;
      readonly contents: ConfigBytes;
      readonly warnings: readonly Diagnostic[];
      readonly hints: readonly Diagnostic[];
    }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[]; readonly readings: ReadingsData };

const ITEMS_PER_PIECE = 250;

export function dataOf(sources: compile.Sources): ConfigData {
  const { gateway, limits, secrets, effective, places, ...rest } = sources;
  const { routes, ...otherSettings } = gateway;
  const { buckets, routes: lines, ...otherLimits } = limits;
  const shown = {
    effective: effective.deflated,
    limitPlaces: places.limits.text,
    routeLines: places.routes.map(({ line }) => line),
  };
  return {
    head: {
      gateway: otherSettings,
      limits: otherLimits,
      secrets,
      rest,
      shown,
    },
    pieces: [
      ...piecesOf('routes', routes),
      ...piecesOf('buckets', Object.entries(buckets)),
      ...piecesOf('lines', Object.entries(lines)),
    ],
  };
}

/** The same for those who neither explain nor compare. */
export function withoutTexts({ head, pieces }: ConfigData): ConfigData {
  return { head: { ...head, shown: null }, pieces };
}

function piecesOf(kind: DataPiece['kind'], items: readonly unknown[]): DataPiece[] {
  return Array.from({ length: Math.ceil(items.length / ITEMS_PER_PIECE) }, (_, index) => {
    const from = index * ITEMS_PER_PIECE;
    const texts = items.slice(from, from + ITEMS_PER_PIECE).map(item => JSON.stringify(item));
    return { kind, texts };
  });
}

/**
 * Compiles a configuration that another thread has read and checked.
 *
 * @param before the configuration in use: what did not change is taken over from it
 */
export function* compileData(
  { head, pieces }: ConfigData,
  generation: number,
  before: Snapshot | null,
): Steps<Snapshot> {
  const routes: GatewayConfig['routes'] = [];
  const buckets: LimitsConfig['buckets'] = {};
  const lines: LimitsConfig['routes'] = {};
  const known = before?.outline.limits.buckets ?? {};
  for (const { kind, texts } of pieces)
    for (const text of texts) {
      const item = JSON.parse(text);
      if (kind === 'routes') routes.push(item);
      else {
        const [name, value] = item;
        const old = kind === 'buckets' && Object.hasOwn(known, name) ? known[name] : undefined;
        // The same object where nothing changed, so that nobody has to compare it again.
        if (kind === 'lines') lines[name] = value;
        else buckets[name] = old !== undefined && isSame(old, value) ? old : value;
      }
      yield;
    }
  const sources: compile.Sources = {
    gateway: { ...head.gateway, routes },
    limits: { ...head.limits, buckets, routes: lines },
    secrets: withBuffers(head.secrets),
    ...head.rest,
    ...shownOf(head),
  };
  return yield* compile.compileGateway(sources, generation, before?.kept);
}

function shownOf({ shown, rest: { files } }: DataHead): Pick<compile.Sources, 'effective' | 'places'> {
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

/** A copy of a Buffer is a plain array of bytes. */
function withBuffers<Value>(value: Value): Value {
  if (value instanceof Uint8Array) return Buffer.from(value) as unknown as Value;
  if (Array.isArray(value)) return value.map(withBuffers) as Value;
  const isPlain =
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withBuffers(part)])) as Value;
}
