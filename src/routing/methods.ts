import { METHODS } from 'node:http';
import { PatternError } from './pattern-error.ts';

// Those that the HTTP/1 parser lets through; CONNECT and TRACE never reach a route, for the gateway refuses them.
const ROUTABLE = new Set(METHODS.filter(method => method !== 'CONNECT' && method !== 'TRACE'));

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
