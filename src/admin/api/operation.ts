import type { z } from 'zod';
import type { AdminChange, GatewayError } from '../../core/index.ts';
import { badRequest } from './api-errors.ts';
import { whatIsWrong } from './what-is-wrong.ts';

/** What came with a call. */
export interface Call {
  /** The last segment of the path, where the path has a parameter; else ''. */
  readonly id: string;
  readonly query: URLSearchParams;
  /** Parsed JSON; undefined: none. */
  readonly body: unknown;
}

export interface Reply {
  readonly status: 200 | 201 | 204;
  /** Ignored with 204. */
  readonly body: unknown;
  /** For the log: what was changed, and for whom; null: nothing was. */
  readonly change: Omit<AdminChange, 'by'> | null;
}

/** One operation of the API. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Operations that change anything always need the token. */
  readonly changes: boolean;
  run(call: Call): Promise<Reply | GatewayError> | Reply | GatewayError;
}

/** Reads a query or body by its schema; an error says what is wrong with which parameter. */
export function readBy<Schema extends z.ZodObject>(
  schema: Schema,
  value: unknown,
):
  | { readonly ok: true; readonly value: z.output<Schema> }
  | { readonly ok: false; readonly error: GatewayError } {
  const { success, data, error } = schema.safeParse(value, { reportInput: true });
  if (success) return { ok: true, value: data };
  return { ok: false, error: badRequest(whatIsWrong(error, schema.shape)) };
}

/** The query as an object: `claims[azp]=app` is a member of `claims`. */
export function queryObject(query: URLSearchParams): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  const claims: Record<string, string> = {};
  for (const [name, value] of query) {
    const claim = /^claims\[([^\]]+)\]$/.exec(name)?.[1];
    if (claim === undefined) object[name] = value;
    else claims[claim] = value;
  }
  return Object.keys(claims).length === 0 ? object : { ...object, claims };
}
