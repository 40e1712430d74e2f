import { isIP } from 'node:net';
import type { CallerClaims, IdentityModel, ProviderModel } from '../config/index.ts';
import {
  claimsByKind,
  classNames,
  classOfApiKey,
  didYouMean,
  KEY_CALLERS,
  listedClass,
} from '../config/index.ts';
import { CALLER_CLASSES } from '../core/index.ts';
import type { AskedCaller } from '../explain/index.ts';
import { type CallerKind, principalOf } from '../identity/auth/index.ts';
import { normalizeAddress } from '../wire/http/index.ts';
import { UsageError } from './command.ts';

interface ClaimOptions {
  readonly client?: string | undefined;
  readonly subject?: string | undefined;
  readonly claim?: readonly string[] | undefined;
  readonly key?: string | undefined;
}

/** Reads the claims on the command line, by name. Throws a UsageError for a claim that is given twice or that no token can have. */
export function readClaims({ client, subject, claim = [], key }: ClaimOptions): ReadonlyMap<string, string> {
  const claims = new Map<string, string>();
  if (key !== undefined) claims.set('key', nonEmpty('--key', key));
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

/** Selects callers by provider and kind; `null` selects all. */
export interface Wanted {
  readonly provider: string | null;
  readonly kind: CallerKind | null;
}

/** Finds the caller class whose principal consists of exactly these claims. */
export function classOf(
  known: readonly CallerClaims[],
  claims: ReadonlyMap<string, string>,
  { provider, kind: wanted }: Wanted,
): CallerClaims {
  const classes = ofProvider(known, provider).filter(({ kind }) => wanted === null || kind === wanted);
  const [found, other] = classes.filter(
    ({ claims: names }) => names.length === claims.size && names.every(name => claims.has(name)),
  );
  if (found === undefined)
    throw new UsageError(classes.map(expectedClaims).join('; ') || 'the configuration defines no bots');
  if (other !== undefined)
    throw new UsageError('bots and users are identified by the same claims: add --as bot or --as user');
  return found;
}

/** The caller classes of one provider. The command line must name it if there are several, since they may share claims. */
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

/** The issuer that callers' names begin with; `null` if there is only one. */
export function issuerNamed(known: readonly CallerClaims[], provider: string | null): string | null {
  return ofProvider(known, provider)[0]?.issuer ?? null;
}

export function principalBy(
  { kind, claims: names, issuer }: CallerClaims,
  claims: ReadonlyMap<string, string>,
): string {
  const values = names.map(name => claims.get(name) ?? '');
  return principalOf(kind, values, issuer);
}

function expectedClaims({ kind, claims }: CallerClaims): string {
  if (kind === 'key') return 'an API key takes --key NAME';
  return `a ${kind} takes ${claims.map(optionFor).join(' ')}`;
}

function optionFor(name: string): string {
  if (name === 'azp') return '--client AZP';
  return name === 'sub' ? '--subject SUB' : `--claim ${name}=VALUE`;
}

/** Reads the value of an option that takes one IP address. */
export function readAddress(text: string, option: string): string {
  const address = isIP(text) === 0 ? null : normalizeAddress(text);
  if (address !== null) return address;
  const [, host = ''] = /^([^/]*)\/\d+$/.exec(text) ?? [];
  const what =
    isIP(host) === 0 ? `an IP address, not "${text}"` : `one IP address, not the network "${text}"`;
  throw new UsageError(`${option} takes ${what}`);
}

/** The sender of the request to explain. */
export interface CallerOnCommandLine {
  readonly as: AskedCaller['as'];
  readonly address: string | null;
  /** The claims that identify the sender, by name; empty if none are given. */
  readonly claims: ReadonlyMap<string, string>;
  /** The provider of the claims; `null` if there is only one. */
  readonly provider: string | null;
}

/**
 * Reads the options that describe the sender.
 *
 * @param as bot, user, address or address:IP
 */
export function readCaller(
  as: string | undefined,
  address: string | undefined,
  claims: ReadonlyMap<string, string>,
  provider: string | undefined,
): CallerOnCommandLine {
  const [, word = '', ip] = /^([^:]*)(?::(.*))?$/s.exec(as ?? '') ?? [];
  // The existing classes are known only after the configuration is read.
  const known = /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(word) ? word : null;
  if (as !== undefined && (known === null || (ip !== undefined && known !== 'address')))
    throw new UsageError(
      `--as takes bot, user, address or address:IP, not "${as}"${didYouMean(word, CALLER_CLASSES)}`,
    );
  if (ip !== undefined && address !== undefined)
    throw new UsageError('--as address:IP and --address both give an address: leave out one');
  if (known === 'address' && claims.size > 0)
    throw new UsageError('--as address is for callers without a token: leave it out, or the claims');
  if (provider !== undefined && claims.size === 0)
    throw new UsageError('--provider says whose claims are meant: add --client, --subject or --claim');
  const given = ip ?? address;
  return {
    as: known,
    address:
      given === undefined ? null : readAddress(given, ip === undefined ? '--address' : '--as address:IP'),
    claims,
    provider: provider ?? null,
  };
}

export function callerIn(
  { as, address, claims, provider }: CallerOnCommandLine,
  identity: IdentityModel | null,
): AskedCaller {
  checkClass(as, identity);
  if (claims.size === 0) return { as, address, principal: null };
  if (identity === null)
    throw new UsageError('there is no identity_provider, so every caller is an address: use --address');
  const wanted: Wanted = { provider, kind: as === 'bot' || as === 'user' ? as : null };
  const ofKeys = identity.apiKeys === null || wanted.kind !== null ? [] : [KEY_CALLERS];
  const found = classOf([...identity.providers.flatMap(claimsAt), ...ofKeys], claims, wanted);
  const principal = principalBy(found, claims);
  if (found.kind === 'key') {
    const ofLine = classOfApiKey(claims.get('key') ?? '', identity);
    if (ofLine === null) throw new UsageError('--key: no line of the file of API keys has this name');
    return { as: as ?? ofLine, address, principal };
  }
  const named = wanted.kind === null ? (as ?? listedClass(principal, identity)) : null;
  return { as: named ?? found.kind, address, principal };
}

function checkClass(as: string | null, identity: IdentityModel | null): void {
  const names = classNames(identity);
  const known = [...CALLER_CLASSES, ...names];
  if (as === null || known.includes(as)) return;
  const more = names.length === 0 ? '' : ` or a class of gateway.yaml (${names.join(', ')})`;
  throw new UsageError(
    `--as takes bot, user, address${more === '' ? ' or' : ','} address:IP${more}, not "${as}"${didYouMean(as, known)}`,
  );
}

function claimsAt({ name, accessTokens }: ProviderModel): readonly CallerClaims[] {
  const { issuer, isOneOfSeveral } = accessTokens;
  return claimsByKind(accessTokens, { provider: name, issuer: isOneOfSeveral ? issuer : null });
}
