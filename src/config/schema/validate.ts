import type { z } from 'zod';
import type { ConfigFile, Path } from '../file/index.ts';
import { asMap, didYouMean, falseBlankIn, formatPath, nearestWord } from '../file/index.ts';
import { fillTyped, type PlacedIssue } from '../values/index.ts';
import { gatewayJsonSchema, type JsonSchema, keysAt, limitsJsonSchema } from './json-schema.ts';
import { whatWasMeant } from './meant.ts';
import { otherWord } from './other-words.ts';

/**
 * Validates a file against its schema and adds every error to the file.
 *
 * @param jsonSchema makes the JSON Schema of the same schema, which lists the known keys. Only called for an unknown key, because
 *   making it costs more than everything else. @returns the value with all defaults; undefined if the file is invalid or
 *   unreadable
 */
export function validate<Schema extends z.ZodType>(
  file: ConfigFile,
  schema: Schema,
  jsonSchema: () => JsonSchema,
): z.output<Schema> | undefined {
  if (file.value === undefined) return undefined;
  let result = schema.safeParse(file.value, { error: inOurWords });
  if (!result.success && fillTyped(file, placedIssues(file, result.error)))
    result = schema.safeParse(file.value, { error: inOurWords });
  if (result.success) return result.data;
  const issues = placedIssues(file, result.error);
  const unknown = issues.flatMap(({ issue, path }) =>
    issue.code === 'unrecognized_keys' ? [{ path, keys: issue.keys }] : [],
  );
  // A misspelt key also leaves the intended one missing: one message is enough.
  const meant = addUnknownKeys(file, unknown, jsonSchema);
  for (const { issue, path } of issues) {
    if (issue.code !== 'unrecognized_keys' && !meant.has(formatPath(path))) addIssue(file, path, issue);
  }
  return undefined;
}

function placedIssues(file: ConfigFile, { issues }: z.ZodError): PlacedIssue[] {
  return issues.flatMap(issue => placed(file, issue, []));
}

/**
 * Locates an issue. For a union it returns the issues of the intended alternative, the only one that accepts the value's type and
 * knows any of its keys; if there is not exactly one, the issue of the union itself, which lists the alternatives.
 */
function placed(file: ConfigFile, issue: z.core.$ZodIssue, above: Path): PlacedIssue[] {
  const path = [...above, ...issue.path.map(step => (typeof step === 'symbol' ? String(step) : step))];
  const ways = issue.code === 'invalid_union' ? issue.errors : [];
  const fits = (way: z.core.$ZodIssue[]) =>
    !way.some(isOfAnotherType) && !isOfOtherKeys(way, file.valueAt(path));
  const [meant, ...others] = ways.filter(fits);
  return meant === undefined || others.length > 0
    ? [{ issue, path }]
    : meant.flatMap(inner => placed(file, inner, path));
}

/** Whether a map has only unknown keys, none of which is a misspelling of a missing one. */
function isOfOtherKeys(issues: readonly z.core.$ZodIssue[], value: unknown): boolean {
  const unknown = issues.flatMap(issue =>
    issue.code === 'unrecognized_keys' && issue.path.length === 0 ? issue.keys : [],
  );
  const lacking = issues.flatMap(({ code, path: [key, ...rest] }) =>
    code === 'invalid_type' && typeof key === 'string' && rest.length === 0 ? [key] : [],
  );
  if (unknown.length === 0 || lacking.length === 0) return false;
  return (
    Object.keys(asMap(value)).every(key => unknown.includes(key)) &&
    unknown.every(key => nearestWord(key, lacking) === undefined)
  );
}

function isOfAnotherType({ code, path }: z.core.$ZodIssue): boolean {
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_value');
}

function addIssue(file: ConfigFile, path: Path, issue: z.core.$ZodIssue): void {
  if (issue.code === 'invalid_key') {
    const why = issue.issues[0]?.message ?? issue.message;
    file.add(path, `${file.shownKey(path)} ${why}`, { about: 'key' });
  } else if (!file.has(path)) {
    file.add(path.slice(0, -1), `missing key "${path.at(-1)}": ${issue.message}`);
  } else if (file.holdsVariable(path)) {
    file.add(path, aboutVariable(file, path, issue));
  } else if (file.hides(path) && isQuoting(issue)) {
    file.add(path, expectedOf(issue) ?? issue.message);
  } else if (issue.message.startsWith('expected')) {
    file.add(path, `${issue.message}, found ${found(file, path, issue)}${wordMeant(file, path, issue)}`);
  } else {
    file.add(path, issue.message);
  }
}

/** Shows what was found. Instead of a map, a text may be the intended content of the map, secrets included. */
function found(file: ConfigFile, path: Path, issue: z.core.$ZodIssue): string {
  const isForMap = issue.code === 'invalid_type' && /^(object|record)$/.test(issue.expected);
  return isForMap && typeof file.valueAt(path) === 'string' ? 'text' : file.shown(path);
}

/** Explains an issue with a variable without showing its value, which may be a secret. */
function aboutVariable(file: ConfigFile, path: Path, issue: z.core.$ZodIssue): string {
  const expected = expectedOf(issue);
  if (expected === null) return issue.message;
  if (issue.code === 'invalid_type' && /^(object|record|array)$/.test(issue.expected))
    return `${expected}, which no variable can hold, found ${file.shown(path)}`;
  return `${expected}, but ${file.shown(path)} contains something else`;
}

/** Whether the message repeats the value. */
function isQuoting(issue: z.core.$ZodIssue): boolean {
  return issue.code === 'custom' && issue.params?.expected !== undefined;
}

/** Returns what was expected without repeating the value; `null` if the message does not repeat it anyway. */
function expectedOf(issue: z.core.$ZodIssue): string | null {
  const expected: unknown = issue.code === 'custom' ? issue.params?.expected : undefined;
  if (typeof expected === 'string') return `expected ${expected}`;
  return issue.message.startsWith('expected') ? issue.message : null;
}

function wordMeant(file: ConfigFile, path: Path, issue: z.core.$ZodIssue): string {
  if (file.hides(path)) return '';
  const meant = whatWasMeant(issue.message, file.valueAt(path));
  if (meant !== '' || issue.code !== 'invalid_value') return meant;
  return didYouMean(file.shown(path).replaceAll('"', ''), issue.values.map(String));
}

/** Replaces zod's messages if the schema does not define one. */
const inOurWords: z.core.$ZodErrorMap = issue => {
  if (issue.code !== 'invalid_type') return undefined;
  switch (issue.expected) {
    case 'object':
    case 'record':
      return 'expected a map of keys';
    case 'array':
      return 'expected a list';
    default:
      return undefined;
  }
};

interface UnknownKeys {
  readonly path: Path;
  readonly keys: readonly string[];
}

/**
 * Adds an error for each unknown key, with a suggestion.
 *
 * @param schema makes the file's JSON Schema, which costs more than the rest of the validation
 * @returns the paths of the suggested keys as messages name them: they need no message about being missing
 */
function addUnknownKeys(
  file: ConfigFile,
  unknown: readonly UnknownKeys[],
  schema: () => JsonSchema,
): ReadonlySet<string> {
  const meant = new Set<string>();
  if (unknown.length === 0) return meant;
  const own = schema();
  const places = placesOf(own);
  const isOfLimits = schema === limitsJsonSchema;
  for (const { path, keys } of unknown) {
    const known = keysAt(own, path);
    for (const key of keys) {
      const other = otherWord(key, path, isOfLimits);
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

/** Keys whose names are too common to suggest another place that has them. */
const TOO_COMMON: ReadonlySet<string> = new Set([
  ...['address', 'cache', 'headers', 'host', 'limit', 'methods', 'name', 'path', 'period', 'port', 'prefix'],
  ...['scope', 'service', 'timeout', 'timeouts', 'value'],
]);

/** Where each key belongs, as worded in messages. */
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
      // Its keys belong to routes, which come later.
      if (key !== 'defaults') collect(part as JsonSchema, [...at, key], file, found);
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
