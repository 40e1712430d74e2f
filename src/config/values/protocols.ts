import { z } from 'zod';
import type { UpstreamProtocol } from '../../upstream/index.ts';
import { keysIn } from './schema-parts.ts';

const MARKS = z.registry<{ readonly protocols: readonly UpstreamProtocol[] }>();

/** Marks a key of an upstream that applies only to some protocols. */
export function onlyFor<Schema extends z.ZodType>(
  protocols: readonly UpstreamProtocol[],
  schema: Schema,
): Schema {
  MARKS.add(schema, { protocols });
  return schema;
}

/** A key of an upstream, by its path there, with the protocols that it applies to. */
export interface ProtocolKey {
  readonly path: readonly string[];
  readonly protocols: readonly UpstreamProtocol[];
}

/** Returns the marked keys of a map, and of the maps in it. */
export function protocolKeysIn(keys: Readonly<Record<string, z.core.$ZodType>>): ProtocolKey[] {
  return Object.entries(keys).flatMap(([key, schema]) => {
    const mark = MARKS.get(schema as z.ZodType);
    if (mark !== undefined) return [{ path: [key], protocols: mark.protocols }];
    return protocolKeysIn(keysIn(schema)).map(({ path, protocols }) => ({ path: [key, ...path], protocols }));
  });
}
