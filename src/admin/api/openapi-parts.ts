import { STATUS_CODES } from 'node:http';

/** The paths of an OpenAPI document. */
export type PathItems = Readonly<Record<string, object>>;

/** A response whose body is this schema. */
export function json(description: string, schema: string): object {
  return {
    description,
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
  };
}

/** Responses with the error object. */
export function errors(...statuses: readonly number[]): object {
  return Object.fromEntries(
    statuses.map(status => [String(status), json(`${STATUS_CODES[status] ?? ''}.`, 'Error')]),
  );
}
