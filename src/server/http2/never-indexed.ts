import { type IncomingHttpHeaders, sensitiveHeaders } from 'node:http2';
import { type FieldNames, type Fields, NO_NAMES } from '../../core/index.ts';
import { isSecret } from '../../http2/index.ts';

/**
 * The fields that a client sent as never indexed, which have to be sent on so (RFC 7541, 6.2.3). Without those that we never index
 * in any case: nghttp2 sends every Authorization so.
 */
export function neverIndexedIn(headers: IncomingHttpHeaders): FieldNames {
  const names: readonly string[] | undefined = Reflect.get(headers, sensitiveHeaders);
  if (names === undefined || names.length === 0 || names.every(isSecret)) return NO_NAMES;
  return new Set(names);
}

/** Marks the fields of these names, so that nghttp2 sends them as never indexed. */
export function markNeverIndexed<T extends object>(section: T, fields: Fields, names: FieldNames): T {
  if (names.size === 0) return section;
  const present = fields.filter((name, i) => i % 2 === 0 && names.has(name.toLowerCase()));
  return Object.assign(section, { [sensitiveHeaders]: [...new Set(present)] });
}
