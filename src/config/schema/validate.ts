import type { z } from 'zod';
import { type ConfigFile, didYouMean, formatPath, type Path } from '../file/index.ts';
import { fillTyped, type PlacedIssue } from '../values/index.ts';
import type { JsonSchema } from './json-schema.ts';
import { whatWasMeant } from './meant.ts';
import { addUnknownKeys } from './unknown-keys.ts';

/**
 * Validates a file against its schema and adds every error to the file.
 *
 * @param jsonSchema makes the JSON Schema of the same schema, which lists the known keys. Only called for an unknown key, because
 *   making it costs more than everything else.
 * @returns the value with all defaults; undefined: the file is invalid or unreadable
 */
export function validate<Schema extends z.ZodType>(
  file: ConfigFile,
  schema: Schema,
  jsonSchema: () => JsonSchema,
): z.output<Schema> | undefined {
  if (file.value === undefined) return undefined;
  let result = schema.safeParse(file.value, { error: inOurWords });
  if (!result.success && fillTyped(file, placedIssues(result.error)))
    result = schema.safeParse(file.value, { error: inOurWords });
  if (result.success) return result.data;
  const issues = placedIssues(result.error);
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

function placedIssues({ issues }: z.ZodError): PlacedIssue[] {
  return issues.flatMap(issue => placed(issue, []));
}

/**
 * Places an issue. For a union it returns the issues of the intended alternative, the only one that accepts the value's type; if
 * that is not exactly one, the issue of the union itself, which lists the alternatives.
 */
function placed(issue: z.core.$ZodIssue, above: Path): PlacedIssue[] {
  const path = [...above, ...toPath(issue.path)];
  const ways = issue.code === 'invalid_union' ? issue.errors : [];
  const [meant, ...others] = ways.filter(way => !way.some(isOfAnotherType));
  return meant === undefined || others.length > 0
    ? [{ issue, path }]
    : meant.flatMap(inner => placed(inner, path));
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

/** Shows what was found. In place of a map, a text may be the intended content of the map, secrets included. */
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
  return `${expected}, but ${file.shown(path)} holds something else`;
}

/** Whether the message repeats the value. */
function isQuoting(issue: z.core.$ZodIssue): boolean {
  return issue.code === 'custom' && issue.params?.expected !== undefined;
}

/** Says what was expected without repeating the value; `null` if the message does not repeat it anyway. */
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

function toPath(path: readonly PropertyKey[]): Path {
  return path.map(step => (typeof step === 'symbol' ? String(step) : step));
}
