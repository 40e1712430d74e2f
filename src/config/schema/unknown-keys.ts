import { type ConfigFile, formatPath, nearestWord, type Path } from '../file/index.ts';
import { otherWord } from '../values/index.ts';
import { falseBlankIn } from '../yaml/index.ts';
import { gatewayJsonSchema, type JsonSchema, keysAt, limitsJsonSchema } from './json-schema.ts';

export interface UnknownKeys {
  readonly path: Path;
  readonly keys: readonly string[];
}

/**
 * Adds an error for each unknown key, with a suggestion.
 *
 * @param schema makes the file's JSON Schema, which costs more than the rest of the validation
 * @returns the paths of the suggested keys as messages name them: they need no message about being missing
 */
export function addUnknownKeys(
  file: ConfigFile,
  unknown: readonly UnknownKeys[],
  schema: () => JsonSchema,
): ReadonlySet<string> {
  const meant = new Set<string>();
  if (unknown.length === 0) return meant;
  const own = schema();
  const places = placesOf(own);
  for (const { path, keys } of unknown) {
    const known = keysAt(own, path);
    for (const key of keys) {
      const other = otherWord(key, path, own.$id === limitsJsonSchema().$id);
      const { word, why } =
        other === undefined ? guess(key, known, places) : { word: null, why: `: ${other}` };
      if (word !== null) meant.add(formatPath([...path, word]));
      file.add([...path, key], `unknown key ${file.shownKey([...path, key])}${why}`, { about: 'key' });
    }
  }
  return meant;
}

/** Guesses which known key was meant, and says so. */
function guess(key: string, known: readonly string[], places: Places): { word: string | null; why: string } {
  const blank = falseBlankIn(key);
  if (blank !== null) return { word: nearestWord(key, known) ?? null, why: `: ${blank.message}` };
  const [, dash = '', name = '', colon = ''] = /^(-?)([^:=]*)([:=]?)/.exec(key) ?? [];
  if (known.includes(name) && colon !== '')
    return {
      word: name,
      why: `: write ${colon === '=' ? '":" and a space in place of the "="' : 'a space after the ":"'}`,
    };
  if (known.includes(name) && dash !== '') return { word: name, why: ': write a space after the "-"' };
  const word = nearestWord(key, known);
  if (word !== undefined) return { word, why: `, did you mean "${word}"?` };
  const elsewhere = TOO_COMMON.has(name) ? [] : (places.get(name)?.slice(0, 2) ?? []);
  return { word: null, why: elsewhere.length === 0 ? '' : `: it belongs ${elsewhere.join(' or ')}` };
}

/** Keys whose names are too common to hint at another place that has them. */
const TOO_COMMON: ReadonlySet<string> = new Set([
  ...['address', 'cache', 'headers', 'host', 'limit', 'methods', 'name', 'path', 'period', 'port', 'prefix'],
  ...['scope', 'service', 'timeout', 'timeouts', 'value'],
]);

/** Where each key belongs, as messages say it. */
type Places = ReadonlyMap<string, readonly string[]>;

/** Collects the places of both files' keys, this file's first. */
function placesOf(own: JsonSchema): Places {
  const found = new Map<string, string[]>();
  collect(own, [], '', found);
  for (const other of [gatewayJsonSchema(), limitsJsonSchema()])
    if (other.$id !== own.$id) collect(other, [], `${other.$id?.replace('.schema.json', '.yaml')}`, found);
  return found;
}

/** @param at the path to this schema: keys, NAME for a key chosen by the operator, [] for the entries of a list */
function collect(
  schema: JsonSchema,
  at: readonly string[],
  file: string,
  found: Map<string, string[]>,
): void {
  for (const way of [schema, ...(schema.anyOf ?? [])]) {
    for (const [key, part] of Object.entries(way.properties ?? {})) {
      found.set(key, [...(found.get(key) ?? []), placeIn(at, file)]);
      collect(part as JsonSchema, [...at, key], file, found);
    }
    if (isObject(way.items)) collect(way.items, [...at, '[]'], file, found);
    if (isObject(way.additionalProperties)) collect(way.additionalProperties, [...at, 'NAME'], file, found);
  }
}

function placeIn(at: readonly string[], file: string): string {
  if (at.length === 0) return file === '' ? 'at the top of the file, without an indent' : `in ${file}`;
  const entry = at.at(-1) === '[]' ? 'an entry of ' : '';
  return `in ${entry}"${at.filter(step => step !== '[]').join('.')}"${file === '' ? '' : ` of ${file}`}`;
}

function isObject(part: unknown): part is JsonSchema {
  return typeof part === 'object' && part !== null && !Array.isArray(part);
}
