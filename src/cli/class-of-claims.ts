import type { CallerKind } from '../auth/index.ts';
import type { CallerClaims } from '../config/index.ts';
import { UsageError } from './command.ts';

/** Finds the class of callers that exactly these claims identify. */
export function classOf(
  known: readonly CallerClaims[],
  claims: ReadonlyMap<string, string>,
  wanted: CallerKind | null,
): CallerClaims {
  const classes = known.filter(({ kind }) => wanted === null || kind === wanted);
  const [found, other] = classes.filter(({ claims: names }) => isSame(names, claims));
  if (found === undefined)
    throw new UsageError(classes.map(whatItTakes).join('; ') || 'there are no bots here');
  if (other !== undefined)
    throw new UsageError('bots and users are identified by the same claims: add --as bot or --as user');
  return found;
}

function isSame(names: readonly string[], claims: ReadonlyMap<string, string>): boolean {
  return names.length === claims.size && names.every(name => claims.has(name));
}

function whatItTakes({ kind, claims }: CallerClaims): string {
  return `a ${kind} takes ${claims.map(optionFor).join(' ')}`;
}

function optionFor(name: string): string {
  if (name === 'azp') return '--client AZP';
  return name === 'sub' ? '--subject SUB' : `--claim ${name}=VALUE`;
}
