import { z } from 'zod';
import type { Fields } from '../../core/index.ts';
import { STATUS_CODES } from '../../core/index.ts';
import { RESERVED_RESPONSE_FIELDS } from '../../wire/http/index.ts';
import { compareNeutral, type Difference } from '../difference.ts';
import { asList, asMap, isMap, type RawMap, type Section } from '../file/index.ts';
import { fieldName, mapExpected, mapOf, wholeNumber } from '../values/index.ts';
import { fieldValue } from './header-fields.ts';
import { checkRest, compileLocation, type LocationModel, redirectTarget } from './redirect-target.ts';

// The answers that routes give without an upstream: `redirect` and `respond`.

const REDIRECTS = [301, 302, 303, 307, 308] as const;
const MAX_BODY = 16_384;
/** The statuses of responses that have no body (RFC 9110, 15.3.5, 15.3.6, 15.4.5). */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

export const redirectSchema = mapOf('{ to: "https://new.example.com/" }', {
  to: redirectTarget().describe(
    'Where clients are sent: an http or https URL, or a path on the same host. {path} directly after the host stands for the path of the request, {rest} after a slash for what ** matched.',
  ),
  status: z
    .union(
      REDIRECTS.map(status => z.literal(status)),
      { error: `expected ${REDIRECTS.slice(0, -1).join(', ')} or 308` },
    )
    .prefault(308)
    .describe('The status. 307 and 308 keep the method and the body.'),
})
  .optional()
  .describe(
    'In place of an upstream: redirects clients. The query of a request is kept if the address has none.',
  );

export const respondSchema = mapOf('{ status: 200, body: "ok" }', {
  status: wholeNumber(200, 599, 'expected a status from 200 to 599').describe('The status.'),
  body: z
    .string({ error: 'expected text' })
    .refine(body => Buffer.byteLength(body) <= MAX_BODY, { error: 'a body has at most 16 KiB' })
    .refine(body => body.isWellFormed(), { error: 'expected text' })
    .prefault('')
    .describe('The body, sent as UTF-8: up to 16 KiB. Left out: none.'),
  headers: z
    .record(fieldName('Content-Type'), fieldValue(), mapExpected('{ Content-Type: text/plain }'))
    .prefault({})
    .describe(
      'Header fields of the answer. Content-Type is text/plain if there is a body and it is left out.',
    ),
})
  .optional()
  .describe('In place of an upstream: always gives the same answer.');

type RedirectConfig = NonNullable<z.output<typeof redirectSchema>>;
type RespondConfig = NonNullable<z.output<typeof respondSchema>>;

/** The answer of a route without an upstream, ready to be sent. */
export interface AnswerModel {
  readonly status: number;
  readonly reason: string;
  /** All fields except Location. */
  readonly fields: Fields;
  /** Where clients are redirected; `null` if the answer is not a redirect. */
  readonly location: LocationModel | null;
  /** Each character is one byte. */
  readonly body: string;
}

/** Compiles the answer of a route; `null` for a route with an upstream. */
export function compileAnswer(config: {
  readonly path?: string | undefined;
  readonly redirect?: RedirectConfig | undefined;
  readonly respond?: RespondConfig | undefined;
}): AnswerModel | null {
  if (config.redirect !== undefined) return compileRedirect(config.redirect, config.path ?? '');
  return config.respond === undefined ? null : compileRespond(config.respond);
}

function compileRedirect({ to, status }: RedirectConfig, ofRoute: string): AnswerModel {
  return {
    status,
    reason: STATUS_CODES[status] ?? '',
    fields: ['Content-Length', '0'],
    location: compileLocation(to, ofRoute),
    body: '',
  };
}

function compileRespond({ status, body, headers }: RespondConfig): AnswerModel {
  const names = Object.keys(headers).map(name => name.toLowerCase());
  const isTyped = body === '' || names.includes('content-type');
  const bytes = Buffer.from(body).toString('latin1');
  const length = status === 204 || status === 304 ? [] : ['Content-Length', String(bytes.length)];
  return {
    status,
    reason: STATUS_CODES[status] ?? '',
    fields: [
      ...(isTyped ? [] : ['Content-Type', 'text/plain; charset=utf-8']),
      ...Object.entries(headers).flat(),
      ...length,
    ],
    location: null,
    body: bytes,
  };
}

export function describeAnswer({ status, location, body }: AnswerModel): string {
  if (location === null)
    return `${status}, ${body === '' ? 'without a body' : `with a body of ${body.length} bytes`}`;
  return `${status} to ${location.to}${location.afterQuery === null ? '' : ', with the query of the request'}`;
}

export function compareAnswers(now: AnswerModel, before: AnswerModel): Difference | null {
  const difference = compareNeutral('answer', describeAnswer(now), describeAnswer(before));
  if (difference !== null || JSON.stringify(now) === JSON.stringify(before)) return difference;
  return compareNeutral('answer', 'with other fields or another body', 'its own');
}

/** The ways to serve a route; each route has exactly one. */
export const SERVED_BY = ['upstream', 'redirect', 'respond'] as const;

export function isAnswered(route: RawMap): boolean {
  return route.upstream === undefined && (route.redirect !== undefined || route.respond !== undefined);
}

/** Routes without an upstream need no token unless they say so. Runs before all checks, so that these see the added keys. */
export function fillAnsweredRoutes(routes: unknown): void {
  for (const route of asList(routes))
    if (isMap(route) && isAnswered(route) && route.authentication === undefined)
      Object.assign(route, { authentication: 'none' });
}

/** Checks that a route is served in exactly one way, with a body and fields that its answer can have. */
export function checkServed(route: Section): void {
  const [first, ...others] = SERVED_BY.filter(key => route.raw[key] !== undefined);
  for (const key of others)
    route.addKey(key, `a route has one of ${SERVED_BY.join(', ')}: keep "${first}" or "${key}"`);
  checkAnswer(route);
  checkRest(route);
  if (route.raw.grpc === undefined || first === 'upstream' || first === undefined) return;
  route.addKey(first, `"${first}" does not apply to gRPC calls: name an upstream`);
}

function checkAnswer(route: Section): void {
  const { status, body, headers } = asMap(route.raw.respond);
  if (typeof status === 'number' && WITHOUT_BODY.has(status) && typeof body === 'string' && body !== '')
    route.add(['respond', 'body'], `a response with status ${status} has no body: leave it out`);
  const seen = new Set<string>();
  for (const name of Object.keys(asMap(headers))) {
    const add = (message: string) => route.addKey(['respond', 'headers', name], message);
    if (RESERVED_RESPONSE_FIELDS.get(name) !== undefined)
      add(`the gateway writes or removes "${name}" itself: leave it out`);
    else if (seen.has(name.toLowerCase())) add(`"${name}" is named twice: keep one`);
    seen.add(name.toLowerCase());
  }
}
