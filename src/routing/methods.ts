import { METHODS } from 'node:http';
import { PatternError } from './pattern-error.ts';

/** TRACE would show clients what the gateway adds; CONNECT would turn it into a tunnel. */
const NEVER_SERVED: ReadonlySet<string> = new Set(['CONNECT', 'TRACE']);

/** The methods that can reach a route: those that Node's parser knows, except the two that are never served. */
export const ROUTABLE_METHODS: readonly string[] = METHODS.filter(method => !NEVER_SERVED.has(method));

const ROUTABLE: ReadonlySet<string> = new Set(ROUTABLE_METHODS);

/** Whether a route without a list of methods serves this one. Others are refused before a route is looked up. */
export function isRoutable(method: string): boolean {
  return ROUTABLE.has(method);
}

/** Whether a route that names these methods takes this one. GET includes HEAD. */
export function takesMethod(methods: readonly string[], method: string): boolean {
  return methods.includes(method) || (method === 'HEAD' && methods.includes('GET'));
}

/** Throws a PatternError if a route cannot name these methods. */
export function checkMethods(methods: readonly string[]): void {
  if (methods.length === 0)
    throw new PatternError('the list of methods is empty: leave it out for every method');
  for (const [i, method] of methods.entries()) {
    const error = methods.indexOf(method) === i ? errorIn(method) : 'is named twice: name it once';
    if (error !== null) throw new PatternError(`method "${method}" ${error}`);
  }
}

function errorIn(method: string): string | null {
  if (ROUTABLE.has(method)) return null;
  const upper = method.toUpperCase();
  if (ROUTABLE.has(upper)) return `is written in upper case: write "${upper}"`;
  return 'is not a supported method: write GET, POST, PUT, PATCH, DELETE or the like, or name no method to match all';
}
