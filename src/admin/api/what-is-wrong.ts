import { z } from 'zod';
import { didYouMean } from '../../config/index.ts';

type Shape = Readonly<Record<string, z.core.$ZodType>>;

/** Says what is wrong with the parameters of a request: the misspelt one first, since the one that was meant is then missing. */
export function whatIsWrong({ issues }: z.core.$ZodError, shape: Shape): string {
  const unknown = issues.find(issue => issue.code === 'unrecognized_keys');
  if (unknown !== undefined && unknown.path.length === 0) return aboutUnknown(unknown.keys[0] ?? '', shape);
  const [issue] = issues;
  const name = issue?.path[0];
  if (issue === undefined || name === undefined)
    return 'Send a JSON object of parameters: see /openapi.json.';
  const where = [String(name), ...issue.path.slice(1).map(key => `[${plain(String(key))}]`)].join('');
  if (issue.input !== undefined) return `${where}: ${expected(issue)}`;
  const what = descriptionOf(shape[String(name)]);
  return `${where} is missing${what === '' ? '.' : `: ${what}`}`;
}

/** The contract (docs/contract.md, 7.1) repeats nothing of a client. An operator is told a plain name, since it is no value. */
function aboutUnknown(key: string, shape: Shape): string {
  const names = Object.keys(shape);
  return `There is no parameter ${plain(key)}${didYouMean(key, names) || `: known are ${names.join(', ')}.`}`;
}

function plain(key: string): string {
  return /^[\w-]{1,40}$/.test(key) ? `"${key}"` : 'of this name';
}

function expected(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `expected ${TYPES[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `expected ${issue.values.map(String).join(' or ')}`;
    case 'too_small':
      return issue.origin === 'string' ? 'must not be empty' : `expected at least ${issue.minimum}`;
    case 'too_big':
      return `expected at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text in quotes',
  int: 'a whole number',
  number: 'a whole number',
  record: 'an object of names and texts',
};

/** The description that /openapi.json gives. */
function descriptionOf(schema: z.core.$ZodType | undefined): string {
  return schema instanceof z.ZodType ? (schema.description ?? '') : '';
}
