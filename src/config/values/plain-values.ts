import { z } from 'zod';
import { isTimeZone } from '../../limits/index.ts';
import { type ConfigFile, didYouMean, type Path } from '../file/index.ts';
import { marked, unshown } from './marks.ts';
import { refuseQuoting } from './refuse.ts';

// Values without a special grammar: choices, numbers, text.

/** One of these words. */
export function word<const Words extends readonly [string, ...string[]]>(words: Words) {
  const list = words.map(each => `"${each}"`);
  return z.enum(words, { error: `expected ${list.slice(0, -1).join(', ')} or ${list.at(-1)}` });
}

/** One of these words; the first is the default. */
export function choice<const Words extends readonly [string, ...string[]]>(words: Words) {
  return word(words).prefault(words[0] as never);
}

/** A schema with a default, if there is one. */
type Defaulting<Schema extends z.ZodType, Otherwise> = Otherwise extends undefined
  ? Schema
  : z.ZodPrefault<Schema>;

/** @param otherwise the default as it would be written; `undefined` for none, as in all functions here */
export function withDefault<Schema extends z.ZodType, Otherwise>(schema: Schema, otherwise: Otherwise) {
  const made = otherwise === undefined ? schema : schema.prefault(otherwise as never);
  return made as Defaulting<Schema, Otherwise>;
}

/** A whole number from 1 to `max`. */
export function count<Otherwise extends number | undefined = undefined>(max: number, otherwise?: Otherwise) {
  return withDefault(wholeNumber(1, max, `expected a whole number from 1 to ${max}`), otherwise as Otherwise);
}

/** The same with a default that depends on the memory: `most`, or less if there is little memory. `text` describes the key. */
export function countByMemory(max: number, most: number, text: string) {
  const otherwise = `Default: by the memory that the process may use (docs/memory.md), at most ${most}.`;
  return marked(count(max, most).describe(`${text} ${otherwise}`), { byMemory: true });
}

export function wholeNumber(min: number, max: number, error: string) {
  return z.int({ error }).min(min, { error }).max(max, { error });
}

/** @param otherwise the default */
export function yesOrNo(otherwise: boolean) {
  return z.boolean({ error: 'expected true or false' }).prefault(otherwise);
}

export function text<Otherwise extends string | undefined = undefined>(error: string, otherwise?: Otherwise) {
  return withDefault(z.string({ error }).min(1, { error }), otherwise as Otherwise);
}

/** The path of a file. Never shown in messages, because some operators write the secret itself in its place. */
export function pathOfFile() {
  return unshown(text('write the path of a file'));
}

export function optionalFile() {
  return pathOfFile().optional();
}

/** Rejects each entry that a list already contains. */
export function eachOnce(list: readonly unknown[], context: z.RefinementCtx): void {
  const entries = list.map(entry => JSON.stringify(entry));
  for (const [index, entry] of entries.entries())
    if (entries.indexOf(entry) < index)
      context.addIssue({ code: 'custom', path: [index], message: 'is listed twice' });
}

/** A name chosen by the operator, as the key of a map. */
export function name() {
  return z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, {
    error:
      'is not a valid name: use 1 to 63 letters, digits, ".", "_" or "-", starting with a letter or digit',
  });
}

/** The error for anything but a map, with an example. */
export function mapExpected(example: string) {
  return {
    error: ({ code }: { readonly code?: string | undefined }) =>
      code === 'invalid_type' ? `expected a map such as ${example}` : undefined,
  };
}

/** A map with these keys and no others. */
export function mapOf<Keys extends z.ZodRawShape>(example: string, keys: Keys) {
  return z.strictObject(keys, mapExpected(example));
}

/** A map that may be omitted. Omitted keys have their defaults. */
export function section<Keys extends z.ZodRawShape>(text: string, keys: Keys) {
  return z
    .strictObject(keys)
    .prefault({} as never)
    .describe(text);
}

/** The JSON Schema of a map with exactly one of these keys. */
export function oneKeyOf(...keys: readonly string[]) {
  return { oneOf: keys.map(key => ({ type: 'object', properties: { [key]: {} }, required: [key] })) };
}

/** A list that may be omitted: it is then empty. */
export function list<Entry extends z.ZodType>(entry: Entry, error = 'expected a list') {
  return z.array(entry, { error }).prefault([]);
}

/** A word, read as null, or another value. */
export function wordOr<const Word extends string, Other extends z.ZodType>(
  word: Word,
  other: Other,
  error: string,
) {
  return z.union([z.literal(word).transform(() => null), other], { error });
}

/** A zod issue with its path from the top of the file. */
export interface PlacedIssue {
  readonly issue: z.core.$ZodIssue;
  readonly path: Path;
}

/**
 * Reads variables as numbers and booleans where the schema expects them: variables contain text, and only the schema knows the
 * type. Reads false as "off" where that is expected: tools that use YAML 1.1, such as Helm, turn off into false. @returns whether
 * anything changed, so that validation should be repeated
 */
export function fillTyped(file: ConfigFile, issues: readonly PlacedIssue[]): boolean {
  const filled = issues.map(({ issue, path }) => {
    if (issue.message.startsWith('expected off') && file.valueAt(path) === false) {
      file.fill(path, 'off');
      return true;
    }
    if (!file.holdsVariable(path)) return false;
    const value = readTyped(issue, String(file.valueAt(path)));
    if (value === undefined) return false;
    file.fill(path, value);
    return true;
  });
  return filled.includes(true);
}

/** Reads a value as the expected type, or as one of several. */
function readTyped(issue: z.core.$ZodIssue, text: string): number | boolean | undefined {
  if (issue.code === 'invalid_union')
    return issue.errors
      .flat()
      .map(each => readTyped(each, text))
      .find(value => value !== undefined);
  return issue.code === 'invalid_type' ? READERS[issue.expected]?.(text) : undefined;
}

/** Spellings of YAML 1.2 (10.3.2). Only decimal integers, since no key accepts other numbers. */
const READERS: Readonly<Record<string, (text: string) => number | boolean | undefined>> = {
  number: text => (/^[+-]?\d{1,15}$/.test(text) ? Number(text) : undefined),
  boolean: text =>
    /^(?:[Tt]rue|TRUE|[Ff]alse|FALSE)$/.test(text) ? text.toLowerCase() === 'true' : undefined,
};

/** A time zone of the IANA database. */
export function timeZone() {
  const expected = 'the name of a time zone such as Europe/Berlin';
  return z.string({ error: `expected ${expected}` }).superRefine((name, context) => {
    if (isTimeZone(name)) return;
    const meant = didYouMean(name, Intl.supportedValuesOf('timeZone'));
    const advice = meant || ': write UTC, or a name such as Europe/Berlin';
    refuseQuoting(context, `"${name}" is not a time zone of the IANA database${advice}`, expected);
  });
}
