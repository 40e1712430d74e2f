import type { z } from 'zod';

import type { ConfigFile, Path } from '../file/index.ts';

/** A zod issue with its path from the top of the file. */
export interface PlacedIssue {
  readonly issue: z.core.$ZodIssue;
  readonly path: Path;
}

/**
 * Reads variables as numbers and booleans where the schema expects one: variables contain text, and only the schema knows
 * better. Reads false as "off" where that is expected: tools that speak YAML 1.1, such as Helm, turn off into false.
 *
 * @returns whether anything changed, so that validation is worth repeating
 */
export function fillTyped(file: ConfigFile, issues: readonly PlacedIssue[]): boolean {
  const filled = issues.map(({ issue, path }) => {
    if (issue.message.startsWith('expected off') && file.valueAt(path) === false) {
      file.fill(path, 'off');
      return true;
    }
    if (issue.code !== 'invalid_type' || !file.holdsVariable(path)) return false;
    const value = READERS[issue.expected]?.(String(file.valueAt(path)));
    if (value === undefined) return false;
    file.fill(path, value);
    return true;
  });
  return filled.includes(true);
}

const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  True: true,
  TRUE: true,
  false: false,
  False: false,
  FALSE: false,
};

/** Spellings of YAML 1.2 (10.3.2). Only decimal integers, since no key takes other numbers. */
const READERS: Readonly<Record<string, (text: string) => number | boolean | undefined>> = {
  number: text => (/^[+-]?\d{1,15}$/.test(text) ? Number(text) : undefined),
  boolean: text => BOOLEANS[text],
};
