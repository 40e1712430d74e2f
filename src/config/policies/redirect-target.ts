import { z } from 'zod';
import { hasOddIpv4, pathWithoutFirst } from '../../wire/http/index.ts';
import { asMap, type Section } from '../file/index.ts';
import { ODD_IPV4 } from '../values/index.ts';

// The target of `redirect`: one address, which may include the path of the request or the end of it.

const TO = 'expected an http or https URL such as https://new.example.com/, or a path such as /new';
const PLACE =
  'a redirect takes over the path as https://new.example.com{path}, directly after the host, or its end as /new/{rest}, after a slash';
const PLACEHOLDER = /\{(?:path|rest)\}/;

/** An address sent as written, except for a placeholder: visible ASCII, without characters that browsers change. */
export function redirectTarget() {
  return z
    .string({ error: TO })
    .regex(/^[\x21-\x7e]+$/, { error: TO, abort: true })
    .refine(to => !/[{}]/.test(to.replace(PLACEHOLDER, '')), {
      error: `${PLACE}; other parameters are not possible`,
      abort: true,
    })
    .refine(isWellPlaced, { error: PLACE, abort: true })
    .refine(to => !hasOddIpv4(filled(to)), { error: ODD_IPV4, abort: true })
    .refine(to => !/[\\"<>^`|]/.test(to) && (isPath(filled(to)) || isHttpUrl(filled(to))), { error: TO });
}

/** Whether no value of the placeholder can change the host: the text before it is already a complete address. */
function isWellPlaced(to: string): boolean {
  const [before = '', behind] = to.split(PLACEHOLDER);
  if (behind === undefined) return true;
  if (to.includes('{path}')) return /^https?:\/\/[^/?#]+$/i.test(before) && isHttpUrl(before);
  return /\/$/.test(before) && !/[?#]/.test(before) && (isPath(before) || isHttpUrl(before));
}

/** An address with a path in place of its placeholder. */
function filled(to: string): string {
  return to.replace('{path}', '/x').replace('{rest}', 'x');
}

/** Excludes `//`, which would begin a host. */
function isPath(to: string): boolean {
  return /^\/(?!\/)/.test(to);
}

function isHttpUrl(to: string): boolean {
  const url = /^https?:\/\/[^/]/i.test(to) ? URL.parse(to) : null;
  return url !== null && url.username === '' && url.password === '';
}

export function checkRest(route: Section): void {
  const { redirect, path } = route.raw;
  const { to } = asMap(redirect);
  if (typeof to !== 'string' || !to.includes('{rest}')) return;
  if (typeof path !== 'string' || path.endsWith('/**')) return;
  const message = '{rest} is what "**" matched, and the path of this route does not end with it';
  route.add(['redirect', 'to'], message);
}

/** An address, in parts if the path or the query of the request goes between them. */
export interface LocationModel {
  /** The address as written. */
  readonly to: string;
  readonly before: string;
  /** How many segments of the request's path are dropped; `null` if none of the path is kept. */
  readonly leftOut: number | null;
  readonly behind: string;
  /** The fragment; `null` if the request's query is not appended. */
  readonly afterQuery: string | null;
}

/** @param ofRoute the path of the route */
export function compileLocation(to: string, ofRoute: string): LocationModel {
  const [address = '', ...fragment] = to.split(/(?=#)/);
  const takesQuery = !address.includes('?');
  const [before = '', behind] = (takesQuery ? address : to).split(PLACEHOLDER);
  const isRest = to.includes('{rest}');
  const leftOut = isRest ? ofRoute.split('/').length - 2 : 0;
  return {
    to,
    // The path that is kept brings the slash.
    before: isRest ? before.slice(0, -1) : before,
    leftOut: behind === undefined ? null : leftOut,
    behind: behind ?? '',
    afterQuery: takesQuery ? fragment.join('') : null,
  };
}

/**
 * The target of a redirect.
 *
 * @param path the canonical path of the request, with single slashes
 * @param query begins with its `?`
 */
export function locationFor(
  { before, leftOut, behind, afterQuery }: LocationModel,
  path: string,
  query: string,
): string {
  const taken = leftOut === null ? '' : pathWithoutFirst(path, leftOut);
  return before + taken + behind + (afterQuery === null ? '' : query + afterQuery);
}
