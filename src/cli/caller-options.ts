import { isIP } from 'node:net';
import { type CallerKind, principalOf } from '../auth/index.ts';
import type { CallerClaims } from '../config/index.ts';
import { normalizeAddress } from '../http/index.ts';
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

/** The callers that the command line means; `null` means any. */
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
    throw new UsageError(classes.map(whatItTakes).join('; ') || 'the configuration defines no bots');
  if (other !== undefined)
    throw new UsageError('bots and users are identified by the same claims: add --as bot or --as user');
  return found;
}

/** The classes of one provider. If there are several, the command line must name one: their callers may have the same claims. */
function ofProvider(known: readonly CallerClaims[], provider: string | null): readonly CallerClaims[] {
  const names = [...new Set(known.flatMap(each => each.provider ?? []))];
  if (provider === null && names.length > 1)
    throw new UsageError(`there are several providers: add --provider ${names.join(' or ')}`);
  if (provider !== null && names.length === 0)
    throw new UsageError(
      '--provider is for several identity_providers: this configuration has one provider, without a name',
    );
  if (provider !== null && !names.includes(provider))
    throw new UsageError(`--provider takes ${names.join(' or ')}, not "${provider}"`);
  return known.filter(each => provider === null || each.provider === provider);
}

/** The principal of the caller with these claims. */
export function principalBy(
  { kind, claims: names, issuer }: CallerClaims,
  claims: ReadonlyMap<string, string>,
): string {
  const values = names.map(name => claims.get(name) ?? '');
  return principalOf(kind, values, issuer);
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

/** Reads the one IP address that an option takes. */
export function readAddress(text: string, option: string): string {
  const address = isIP(text) === 0 ? null : normalizeAddress(text);
  if (address !== null) return address;
  const [, host = ''] = /^([^/]*)\/\d+$/.exec(text) ?? [];
  const what =
    isIP(host) === 0 ? `an IP address, not "${text}"` : `one IP address, not the network "${text}"`;
  throw new UsageError(`${option} takes ${what}`);
}
