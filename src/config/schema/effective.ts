import { promisify } from 'node:util';
import { deflateRawSync, inflateRaw } from 'node:zlib';
import { z } from 'zod';
import { type ConfigFile, isMap, type LimitsFiles, type Path } from '../file/index.ts';
import { limitsSchema } from '../limits/index.ts';
import { gatewaySchema } from '../settings/index.ts';
import { alternativesOf, marksOf } from '../values/index.ts';

const inflate = promisify(inflateRaw);

/** Both files with all defaults, without secrets. Compressed: ten thousand routes would take megabytes. */
export class EffectiveConfig {
  /** The parts as they are kept, for other threads. */
  readonly deflated: Uint8Array;

  /** @param deflated the content of another one */
  constructor(deflated: Uint8Array) {
    this.deflated = deflated;
  }

  static ofParts(parts: Readonly<Record<string, unknown>>): EffectiveConfig {
    return new EffectiveConfig(deflateRawSync(JSON.stringify(parts)));
  }

  /** @param limits `null` if gateway.yaml names none */
  static of(gateway: ConfigFile, limits: LimitsFiles | null): EffectiveConfig {
    return EffectiveConfig.ofParts({
      gateway: effectiveValue(gatewaySchema, gateway.value, gateway),
      limits: effectiveValue(limitsSchema, limits?.value ?? {}, limits ?? WITHOUT_TEXT),
    });
  }

  /** Returns `gateway` and `limits`, by the keys of the files. */
  async read(): Promise<Readonly<Record<string, unknown>>> {
    return JSON.parse(String(await inflate(this.deflated)));
  }
}

const WITHOUT_TEXT = { variableText: () => null };

/** The files that a value was read from. */
interface WrittenText {
  /** The text at a path as written, if it contains a variable; else null. */
  variableText(path: Path): string | null;
}

const HIDDEN = '***';

/**
 * Fills the defaults into a valid value, in the notation of the files: `30s`, not 30000. Secrets are replaced, variables stay
 * unresolved, and addresses that may contain credentials by mistake lose them.
 */
function effectiveValue(
  schema: z.core.$ZodType,
  value: unknown,
  files: WrittenText,
  path: Path = [],
): unknown {
  const { secrecy: mark } = marksOf(schema);
  if (mark === 'secret') return value === undefined ? undefined : HIDDEN;
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const within = (inner: z.core.$ZodType, part = value) => effectiveValue(inner, part, files, path);
  switch (def.type) {
    case 'prefault':
      return within(def.innerType, value === undefined ? def.defaultValue : value);
    case 'optional':
      return value === undefined ? undefined : within(def.innerType);
    case 'pipe':
    case 'union':
      return within(wayOf(alternativesOf(schema), value));
    case 'object':
    case 'record':
    case 'array':
      return partsOf(def, value, files, path);
    default:
      return leaf(value, mark === 'unshown', files, path);
  }
}

type Composite = Extract<z.core.$ZodTypes['_zod']['def'], { type: 'object' | 'record' | 'array' }>;

function partsOf(def: Composite, value: unknown, files: WrittenText, path: Path): unknown {
  const at = (schema: z.core.$ZodType, key: string | number, part: unknown) =>
    effectiveValue(schema, part, files, [...path, key]);
  if (def.type === 'array')
    return Array.isArray(value)
      ? value.map((item, index) => at(def.element, index, item))
      : leaf(value, true, files, path);
  if (!isMap(value)) return leaf(value, true, files, path);
  const parts: Record<string, unknown> = def.type === 'object' ? { ...defaultsIn(def.shape) } : {};
  for (const [key, part] of Object.entries(value)) {
    const schema = def.type === 'object' ? def.shape[key] : def.valueType;
    if (schema !== undefined && part !== undefined) parts[key] = at(schema, key, part);
  }
  return parts;
}

type Shape = Extract<Composite, { type: 'object' }>['shape'];

/** The defaults of maps, cached: most keys are left out, in thousands of routes. */
const DEFAULTS = new WeakMap<Shape, Readonly<Record<string, unknown>>>();

/** Every key of a map in its order, with its default; `undefined`, which JSON leaves out, if it has none. */
function defaultsIn(shape: Shape): Readonly<Record<string, unknown>> {
  const known =
    DEFAULTS.get(shape) ??
    Object.fromEntries(
      Object.entries(shape).map(([key, schema]) => [key, effectiveValue(schema, undefined, WITHOUT_TEXT)]),
    );
  DEFAULTS.set(shape, known);
  return known;
}

/** Finds the alternative of a union that a value was written for: among several maps, the one that accepts it. */
function wayOf(options: readonly z.core.$ZodType[], value: unknown): z.core.$ZodType {
  const ways = isMap(value) || Array.isArray(value) ? options.filter(isComposite) : options;
  const [only = z.unknown(), ...others] = ways;
  return others.length === 0 ? only : (ways.find(way => z.safeParse(way, value).success) ?? only);
}

function isComposite(schema: z.core.$ZodType): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return COMPOSITES.has(def.type) || alternativesOf(schema).some(isComposite);
}

const COMPOSITES: ReadonlySet<string> = new Set(['object', 'record', 'array']);

/** Returns a value that has no parts. `mayHide`: whether its text may be an address with credentials. */
function leaf(value: unknown, mayHide: boolean, files: WrittenText, path: Path): unknown {
  const text = files.variableText(path) ?? value;
  if (!mayHide || typeof text !== 'string') return text;
  return text.replace(/\/\/[^/@]*@/, `//${HIDDEN}@`).replace(/\?.*$/s, `?${HIDDEN}`);
}
