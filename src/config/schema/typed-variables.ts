import type { z } from 'zod';

import type { ConfigFile, Path } from '../file/index.ts';

/** An issue of zod with its path from the top of the file. */
export interface PlacedIssue {
  readonly issue: z.core.$ZodIssue;
  readonly path: Path;
}

/**
 * Variables hold text, and only the schema knows where a number, true or false has to be: where it missed one, what the
 * variables hold is read as the file itself would be.
 *
 * @returns whether any was, so that the file is worth another look.
 */
export function fillTyped(file: ConfigFile, issues: readonly PlacedIssue[]): boolean {
  const filled = issues.map(({ issue, path }) => {
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

/** The spellings of YAML 1.2 (10.3.2), of numbers the decimal whole ones alone: there are no others to be written. */
const READERS: Readonly<Record<string, (text: string) => number | boolean | undefined>> = {
  number: text => (/^[+-]?\d{1,15}$/.test(text) ? Number(text) : undefined),
  boolean: text => BOOLEANS[text],
};
