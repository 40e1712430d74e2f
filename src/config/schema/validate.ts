import type { z } from 'zod';
import type { ConfigFile, Path } from '../file/index.ts';
import { asMap, didYouMean, falseBlankIn, formatPath, nearestWord } from '../file/index.ts';
import { limitsSchema } from '../limits/index.ts';
import { gatewaySchema } from '../settings/index.ts';
import { fillTyped, keysAt, keysIn, type PlacedIssue, possibleSchemas } from '../values/index.ts';
import { otherWord } from './other-words.ts';

/**
 * Validates a file against its schema and adds every error to the file.
 *
 * @param known the schema with all keys of the file. Default: this one
 * @returns the value with all defaults; undefined if the file is invalid or unreadable
 */
export function validate<Schema extends z.ZodType>(
  file: ConfigFile,
  schema: Schema,
  known: z.ZodType = schema,
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
  const meant = addUnknownKeys(file, unknown, known);
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
  const wrong = new Set([...unknown, ...issues.map(({ path }) => path[0])]);
  return (
    Object.keys(asMap(value)).every(key => wrong.has(key)) &&
    unknown.every(key => nearestWord(key, lacking) === undefined)
  );
}

function isOfAnotherType({ code, path }: z.core.$ZodIssue): boolean {
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_value');
}

function addIssue(file: ConfigFile, path: Path, issue: z.core.$ZodIssue): void {
  if (issue.code === 'invalid_key') {
    const why = issue.issues[0]?.message ?? issue.message;
    file.addKey(path, `${file.shownKey(path)} ${why}`);
  } else if (!file.has(path)) {
    file.add(path.slice(0, -1), `missing key "${path.at(-1)}": ${issue.message}`);
  } else if (file.holdsVariable(path)) {
    file.add(path, aboutVariable(file, path, issue));
  } else if (file.hides(path) && isQuoting(issue)) {
    file.add(path, expectedOf(issue) ?? issue.message);
  } else if (issue.message.startsWith('expected')) {
    file.add(path, `${issue.message}, found ${found(file, path, issue)}${wordMeant(file, path, issue)}`);
  } else {
    file.add(path, sentenceOf(file, path, issue.message));
  }
}

/** Names the value if the message only says what is wrong with it: `is listed twice`. */
function sentenceOf(file: ConfigFile, path: Path, message: string): string {
  const isOfValue = /^(?:is|must) /.test(message) && (!file.hides(path) || file.isVariable(path));
  return isOfValue ? `${file.shown(path)} ${message}` : message;
}

/** Shows what was found. Instead of a map, a text may be the intended content of the map, secrets included. */
function found(file: ConfigFile, path: Path, issue: z.core.$ZodIssue): string {
  const isForMap = issue.code === 'invalid_type' && /^(object|record)$/.test(issue.expected);
  return isForMap && typeof file.valueAt(path) === 'string' ? 'text' : file.shown(path);
}

/** Explains an issue with a variable without showing its value, which may be a secret. */
function aboutVariable(file: ConfigFile, path: Path, issue: z.core.$ZodIssue): string {
  const expected = expectedOf(issue);
  if (expected === null) return sentenceOf(file, path, issue.message);
  if (issue.code === 'invalid_type' && /^(object|record|array)$/.test(issue.expected))
    return `${expected}, which no variable can hold, found ${file.shown(path)}`;
  return `${expected}, but ${file.shown(path)} contains something else`;
}

function isQuoting(issue: z.core.$ZodIssue): boolean {
  return issue.code === 'custom' && issue.params?.expected !== undefined;
}

/** Returns what was expected without repeating the value; `null` if the message does not repeat it anyway. */
function expectedOf(issue: z.core.$ZodIssue): string | null {
  const expected: unknown = issue.code === 'custom' ? issue.params?.expected : undefined;
  if (typeof expected === 'string') return `expected ${expected}`;
  return issue.message.startsWith('expected') ? issue.message : null;
}

/** Suggests the word of a list that resembles what was found; empty if none does. */
function wordMeant(file: ConfigFile, path: Path, issue: z.core.$ZodIssue): string {
  if (file.hides(path) || issue.code !== 'invalid_value') return '';
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
 * @returns the paths of the suggested keys as messages name them: they need no message about being missing
 */
function addUnknownKeys(
  file: ConfigFile,
  unknown: readonly UnknownKeys[],
  schema: z.ZodType,
): ReadonlySet<string> {
  const meant = new Set<string>();
  if (unknown.length === 0) return meant;
  const places = placesOf(schema);
  for (const { path, keys } of unknown) {
    const known = keysAt(schema, path);
    for (const key of keys) {
      const other = otherWord(key, path, known);
      const { word, why } =
        other === undefined ? guess(key, known, places) : { word: null, why: `: ${other}` };
      if (word !== null) meant.add(formatPath([...path, word]));
      file.addKey([...path, key], `unknown key ${file.shownKey([...path, key])}${why}`);
    }
  }
  return meant;
}

/** Guesses which known key was meant, and says so. */
function guess(key: string, known: readonly string[], places: Places): { word: string | null; why: string } {
  const word = nearestWord(key, known) ?? null;
  const blank = falseBlankIn(key);
  if (blank !== null) return { word, why: `: ${blank.message}` };
  if (word !== null) return { word, why: `, did you mean "${word}"?` };
  const elsewhere = TOO_COMMON.has(key) ? [] : (places.get(key)?.slice(0, 2) ?? []);
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
function placesOf(own: z.ZodType): Places {
  const found = new Map<string, string[]>();
  collect(own, [], '', found);
  if (own !== gatewaySchema) collect(gatewaySchema, [], 'gateway.yaml', found);
  if (own !== limitsSchema) collect(limitsSchema, [], 'limits.yaml', found);
  return found;
}

/** @param at the path to this schema: keys, NAME for a key chosen by the operator, [] for the entries of a list */
function collect(
  schema: z.core.$ZodType,
  at: readonly string[],
  file: string,
  found: Map<string, string[]>,
): void {
  for (const way of possibleSchemas(schema)) {
    const { def } = (way as z.core.$ZodTypes)._zod;
    if (def.type === 'array') collect(def.element, [...at, '[]'], file, found);
    if (def.type === 'record') collect(def.valueType, [...at, 'NAME'], file, found);
    for (const [key, part] of Object.entries(keysIn(way))) {
      found.set(key, [...(found.get(key) ?? []), placeIn(at, file)]);
      // Its keys are those of routes, which are collected later.
      if (key !== 'defaults') collect(part, [...at, key], file, found);
    }
  }
}

function placeIn(at: readonly string[], file: string): string {
  if (at.length === 0) return file === '' ? 'at the top of the file, without an indent' : `in ${file}`;
  const entry = at.at(-1) === '[]' ? 'an entry of ' : '';
  return `in ${entry}"${at.filter(step => step !== '[]').join('.')}"${file === '' ? '' : ` of ${file}`}`;
}
