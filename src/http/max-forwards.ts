import type { Fields } from '../core/index.ts';
import type { Rejection } from '../http1/index.ts';

/** The maximum, to which larger numbers are lowered, as RFC 9110, 7.6.2 allows. */
const MAX = 2 ** 31 - 1;
const NAME = 'max-forwards';

/**
 * Reads how often a request with these fields may still be forwarded (RFC 9110, 7.6.2); `null` if there is no limit. Rejects
 * fields that two servers could read as different numbers.
 */
export function readMaxForwards(fields: Fields): number | null | Rejection {
  let value: string | null = null;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (!isMaxForwards(fields[i] as string)) continue;
    if (value !== null) return TWICE;
    value = fields[i + 1] as string;
  }
  if (value === null) return null;
  return /^\d+$/.test(value) ? Math.min(Number(value), MAX) : NO_NUMBER;
}

/** Replaces the first `Max-Forwards`, or appends one. */
export function writeMaxForwards(fields: string[], maxForwards: number): void {
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (!isMaxForwards(fields[i] as string)) continue;
    fields[i + 1] = String(maxForwards);
    return;
  }
  fields.push('Max-Forwards', String(maxForwards));
}

const TWICE: Rejection = { rejected: 'the header field "max-forwards" came twice' };
const NO_NUMBER: Rejection = { rejected: 'Max-Forwards is not a plain number' };

function isMaxForwards(name: string): boolean {
  return name.length === NAME.length && name.toLowerCase() === NAME;
}
