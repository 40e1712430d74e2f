import { z } from 'zod';
import type { UpstreamProtocol } from '../../upstream/index.ts';

const MARKS = z.registry<{ readonly protocols: readonly UpstreamProtocol[] }>();

/** Marks a key of an upstream that only some protocols have a use for. */
export function onlyFor<Schema extends z.ZodType>(
  protocols: readonly UpstreamProtocol[],
  schema: Schema,
): Schema {
  MARKS.add(schema, { protocols });
  return schema;
}

/** A key of an upstream, by its path there, with the protocols that have a use for it. */
export interface ProtocolKey {
  readonly path: readonly string[];
  readonly protocols: readonly UpstreamProtocol[];
}

/** Lists the marked keys of a map at this path. */
export function protocolKeysIn(
  keys: Readonly<Record<string, z.ZodType>>,
  path: readonly string[],
): ProtocolKey[] {
  return Object.entries(keys).flatMap(([key, schema]) => {
    const mark = MARKS.get(schema);
    return mark === undefined ? [] : [{ path: [...path, key], protocols: mark.protocols }];
  });
}
