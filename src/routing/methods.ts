import { METHODS } from 'node:http';
import { PatternError } from './pattern-error.ts';

/** TRACE would show a client what the gateway adds; CONNECT would make it a tunnel. */
const NEVER_SERVED: ReadonlySet<string> = new Set(['CONNECT', 'TRACE']);

/** The methods that reach a route: those that the parser of HTTP/1 knows, without the two that are never served. */
export const ROUTABLE_METHODS: readonly string[] = METHODS.filter(method => !NEVER_SERVED.has(method));

const ROUTABLE: ReadonlySet<string> = new Set(ROUTABLE_METHODS);

/** Whether a route without a list of methods serves this one: any other is refused before it has a route. */
export function isRoutable(method: string): boolean {
  return ROUTABLE.has(method);
}

/** Whether a route that names these methods takes this one. GET takes HEAD along. */
export function takesMethod(methods: readonly string[], method: string): boolean {
  return methods.includes(method) || (method === 'HEAD' && methods.includes('GET'));
}

/** Throws a PatternError when a route could not be meant to name these methods. */
export function checkMethods(methods: readonly string[]): void {
  if (methods.length === 0)
    throw new PatternError('the list of methods is empty: leave it out for every method');
  for (const [i, method] of methods.entries()) {
    const mistake = methods.indexOf(method) === i ? mistakeIn(method) : 'is named twice: name it once';
    if (mistake !== null) throw new PatternError(`method "${method}" ${mistake}`);
  }
}

function mistakeIn(method: string): string | null {
  if (ROUTABLE.has(method)) return null;
  const upper = method.toUpperCase();
  if (ROUTABLE.has(upper)) return `is written in upper case: write "${upper}"`;
  return 'is none that the gateway accepts: write GET, POST, PUT, PATCH, DELETE or the like, or none for every method';
}
