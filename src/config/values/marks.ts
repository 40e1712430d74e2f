import { z } from 'zod';
import type { UpstreamProtocol } from '../../upstream/index.ts';
import { alternativesOf, keysIn, partAt } from './schema-parts.ts';

/**
 * What a change of a key means to callers; without a mark, nothing.
 * - `maximum`: a lower number refuses earlier
 * - `door`: decides whose tokens, codes and pages are accepted, so any change may turn someone away
 * - `byRoute`, `byLimit`, `byClass`: compared for each route, limit or class of callers that it applies to, and not by itself
 */
export type Meaning = 'maximum' | 'door' | 'byRoute' | 'byLimit' | 'byClass';

/** Properties of a key that its schema declares, apart from the values. */
interface Marks {
  readonly meaning?: Meaning;
  /** Whether `meaning` is only about adding or removing the whole map, not about the keys in it. */
  readonly wholeOnly?: boolean;
  /** The key that tells the entries of a list apart, whatever their position. Without it, a list is compared as one value. */
  readonly entriesBy?: string;
  /**
   * - `secret`: must come from an environment variable
   * - `unshown`: not a secret, but people often put one there by mistake
   */
  readonly secrecy?: 'secret' | 'unshown';
  /** The protocols of upstreams that it applies to. */
  readonly protocols?: readonly UpstreamProtocol[];
  /**
   * Whether its default depends on the memory that the process may use: the loader fills it in before it validates a file
   * (`settings/memory.ts`), so the default of the schema is only the maximum.
   */
  readonly byMemory?: boolean;
}

const MARKS = z.registry<Marks>();

export function marked<Schema extends z.ZodType>(schema: Schema, marks: Marks): Schema {
  MARKS.add(schema, { ...marksOf(schema), ...marks });
  return schema;
}

/** The marks of a schema, and those of the schema that it was derived from, for example by `describe`. */
export function marksOf(schema: z.core.$ZodType): Marks {
  return MARKS.get(schema as z.ZodType) ?? {};
}

type Keys = Readonly<Record<string, z.ZodType>>;

/** Marks keys, and all keys in them, for `weir diff`. */
export function means<Marked extends Keys>(meaning: Meaning, keys: Marked): Marked {
  for (const schema of Object.values(keys)) marked(schema, { meaning, wholeOnly: false });
  return keys;
}

/** Marks a map whose addition or removal may lock callers out, although most of its keys cannot. */
export function doorAsWhole<Schema extends z.ZodType>(schema: Schema): Schema {
  return marked(schema, { meaning: 'door', wholeOnly: true });
}

/** Marks a path or an address, where people may put a secret or a password by mistake. No message repeats its value. */
export function unshown<Schema extends z.ZodType>(schema: Schema): Schema {
  return marked(schema, { secrecy: 'unshown' });
}

/** Marks keys of an upstream that apply only to some protocols. */
export function onlyFor<Marked extends Keys>(protocols: readonly UpstreamProtocol[], keys: Marked): Marked {
  for (const schema of Object.values(keys)) marked(schema, { protocols });
  return keys;
}

/** Finds the nearest meaning at or above a path. Entries of lists and of maps with free names may have any name. */
export function meaningAt(schema: z.core.$ZodType, path: readonly string[]): Meaning | null {
  const [key, ...rest] = path;
  const part = key === undefined ? undefined : partAt(schema, key);
  if (part !== undefined) return meaningAt(part, rest) ?? ownMeaning(schema, false);
  const ways = alternativesOf(schema).map(way => meaningAt(way, path));
  return ways.find(found => found !== null) ?? ownMeaning(schema, key === undefined);
}

function ownMeaning(schema: z.core.$ZodType, isWhole: boolean): Meaning | null {
  const { meaning = null, wholeOnly } = marksOf(schema);
  return wholeOnly === true && !isWhole ? null : meaning;
}

/** A key of an upstream, by its path there, with the protocols that it applies to. */
interface ProtocolKey {
  readonly path: readonly string[];
  readonly protocols: readonly UpstreamProtocol[];
}

/** Returns the keys of a map, and of the maps in it, that apply only to some protocols. */
export function protocolKeysIn(keys: Readonly<Record<string, z.core.$ZodType>>): ProtocolKey[] {
  return Object.entries(keys).flatMap(([key, schema]) => {
    const { protocols } = marksOf(schema);
    if (protocols !== undefined) return [{ path: [key], protocols }];
    return protocolKeysIn(keysIn(schema)).map(each => ({ ...each, path: [key, ...each.path] }));
  });
}
