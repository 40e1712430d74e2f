import type { FieldNames, Fields } from '../../core/index.ts';
import { markNeverIndexed } from './never-indexed.ts';

type FieldObject = Record<string, string | string[]>;

/** Fields in the form in which Node takes those of an interim response and of trailers: those of one name are a list. */
export function asObject(fields: Fields, neverIndexed: FieldNames): FieldObject {
  const object: FieldObject = Object.create(null);
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = (fields[i] as string).toLowerCase();
    const value = fields[i + 1] as string;
    const before = object[name];
    if (before === undefined) object[name] = value;
    else object[name] = typeof before === 'string' ? [before, value] : [...before, value];
  }
  return markNeverIndexed(object, fields, neverIndexed);
}
