import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { didYouMean } from '../../../config/index.ts';
import { type AdminChange, type Fields, GatewayError, jsonIn } from '../../../core/index.ts';

export interface ApiCall {
  /** The last segment of the path, if the path has a parameter; else ''. */
  readonly id: string;
  readonly query: URLSearchParams;
  /** The parsed JSON of the body; undefined if there is none. */
  readonly body: unknown;
}

export interface ApiReply {
  readonly status: 200 | 201 | 204;
  /** The JSON to send. Ignored with 204. */
  readonly body: unknown;
  /** What was changed, and for whom, for the log; null if nothing. */
  readonly change: Omit<AdminChange, 'by'> | null;
}

/** Parses a query or body by its schema. An error names the parameter and what is wrong with it. */
export function readBy<Schema extends z.ZodObject>(
  schema: Schema,
  value: unknown,
): z.output<Schema> | GatewayError {
  const { success, data, error } = schema.safeParse(value, { reportInput: true });
  return success ? data : badApiRequest(whatIsWrong(error, schema.shape));
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

const MAX_BYTES = 16_384;

/** Reads a JSON body. Requires `application/json`, which pages of other origins cannot send without a CORS preflight. */
export async function readBody(
  request: IncomingMessage,
): Promise<{ readonly value: unknown } | GatewayError> {
  if (!/^application\/json[ \t]*(?:;|$)/i.test(request.headers['content-type'] ?? ''))
    return new GatewayError({ status: 415, message: 'Send JSON, with "Content-Type: application/json".' });
  const bytes = await readBytes(request, MAX_BYTES);
  if (bytes === null) {
    const message = 'The body is larger than any operation accepts.';
    return new GatewayError({ status: 413, message, close: true });
  }
  const value = jsonIn(bytes.toString());
  return value === undefined ? badApiRequest('The body is not JSON.') : { value };
}

/** Resolves to the body, or to `null` if it is too long. Rejects if the connection ends before. */
export async function readBytes(request: IncomingMessage, most: number): Promise<Buffer | null> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > most) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Sends a response. `fields`: names and values in turn, without `Content-Length`. */
export function send(response: ServerResponse, status: number, fields: Fields, body: string): void {
  const length = status === 204 ? [] : ['Content-Length', String(Buffer.byteLength(body))];
  response.writeHead(status, [...fields, ...length]);
  response.end(body);
}

export function badApiRequest(message: string): GatewayError {
  return new GatewayError({ status: 400, message });
}

export function notFound(message: string): GatewayError {
  return new GatewayError({ status: 404, message });
}

export function conflict(message: string): GatewayError {
  return new GatewayError({ status: 409, message });
}

export function unavailable(message: string): GatewayError {
  return new GatewayError({ status: 503, side: 'gateway', message });
}

export function wrongApiMethod(allowed: readonly string[]): GatewayError {
  return new GatewayError({
    status: 405,
    message: `Use ${allowed.join(' or ')}.`,
    fields: ['Allow', allowed.join(', ')],
  });
}

type Shape = Readonly<Record<string, z.core.$ZodType>>;

/**
 * Describes what is wrong with the parameters of a request. A misspelt name comes first, since it is why another parameter is
 * missing.
 */
function whatIsWrong({ issues }: z.core.$ZodError, shape: Shape): string {
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

/** Names an unknown parameter if it is a plain word. Messages repeat nothing else that a client sent (docs/contract.md, 7.1). */
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

function descriptionOf(schema: z.core.$ZodType | undefined): string {
  return schema instanceof z.ZodType ? (schema.description ?? '') : '';
}
