import type { CallerKind } from '../auth/index.ts';
import type { CallerClaims } from '../config/index.ts';
import { UsageError } from './command.ts';

/** Options that give claims. */
interface ClaimOptions {
  readonly client?: string | undefined;
  readonly subject?: string | undefined;
  readonly claim?: readonly string[] | undefined;
}

/** The claims on the command line, by name. Throws a UsageError for one that no token can have, or that is given twice. */
export function readClaims({ client, subject, claim = [] }: ClaimOptions): ReadonlyMap<string, string> {
  const claims = new Map<string, string>();
  if (client !== undefined) claims.set('azp', nonEmpty('--client', client));
  if (subject !== undefined) claims.set('sub', nonEmpty('--subject', subject));
  for (const pair of claim) {
    const [, name = '', value = ''] = /^([^=]+)=(.+)$/s.exec(pair) ?? [];
    if (name === '') throw new UsageError(`--claim takes NAME=VALUE, not "${pair}"`);
    if (claims.has(name)) throw new UsageError(`the claim ${name} is given twice`);
    claims.set(name, value);
  }
  return claims;
}

function nonEmpty(option: string, value: string): string {
  if (value === '') throw new UsageError(`${option} is empty: is a shell variable unset?`);
  return value;
}

/** Which callers are meant; null: any. */
export interface Wanted {
  readonly provider: string | null;
  readonly kind: CallerKind | null;
}

/** Finds the class of callers that exactly these claims identify. */
export function classOf(
  known: readonly CallerClaims[],
  claims: ReadonlyMap<string, string>,
  { provider, kind: wanted }: Wanted,
): CallerClaims {
  const classes = ofProvider(known, provider).filter(({ kind }) => wanted === null || kind === wanted);
  const [found, other] = classes.filter(({ claims: names }) => isSame(names, claims));
  if (found === undefined)
    throw new UsageError(classes.map(whatItTakes).join('; ') || 'there are no bots here');
  if (other !== undefined)
    throw new UsageError('bots and users are identified by the same claims: add --as bot or --as user');
  return found;
}

/** Two providers may have callers with the same claims, so one has to be named where there are several. */
function ofProvider(known: readonly CallerClaims[], provider: string | null): readonly CallerClaims[] {
  const names = [...new Set(known.flatMap(each => each.provider ?? []))];
  if (provider === null && names.length > 1)
    throw new UsageError(`there are several providers: add --provider ${names.join(' or ')}`);
  if (provider !== null && names.length === 0)
    throw new UsageError('--provider is for identity_providers: here is only one provider, without a name');
  if (provider !== null && !names.includes(provider))
    throw new UsageError(`--provider takes ${names.join(' or ')}, not "${provider}"`);
  return known.filter(each => provider === null || each.provider === provider);
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
