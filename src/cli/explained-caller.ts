import { type CallerClaims, didYouMean, type IdentityModel, type ProviderModel } from '../config/index.ts';
import type { AskedCaller } from '../explain/index.ts';
import { classOf, principalBy, readAddress } from './caller-options.ts';
import { UsageError } from './command.ts';

/** The sender of the request that the command line asks about. */
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
  const known = CLASSES.find(callerClass => callerClass === word) ?? null;
  if (as !== undefined && (known === null || (ip !== undefined && known !== 'address')))
    throw new UsageError(
      `--as takes bot, user, address or address:IP, not "${as}"${didYouMean(word, CLASSES)}`,
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

/** Finds the bot or user with these claims. */
export function callerIn(
  { as, address, claims, provider }: CallerOnCommandLine,
  identity: IdentityModel | null,
): AskedCaller {
  if (claims.size === 0) return { as, address, principal: null };
  if (identity === null)
    throw new UsageError('there is no identity_provider, so every caller is an address: use --address');
  const wanted = { provider, kind: as === 'address' ? null : as };
  const found = classOf(identity.providers.flatMap(classesOf), claims, wanted);
  return { as: found.kind, address, principal: principalBy(found, claims) };
}

function classesOf({ name, accessTokens }: ProviderModel): CallerClaims[] {
  const { principal, bots, issuer, isOneOfSeveral } = accessTokens;
  const of = { provider: name, issuer: isOneOfSeveral ? issuer : null };
  const users: CallerClaims = { kind: 'user', claims: principal, ...of };
  return bots === null ? [users] : [users, { kind: 'bot', claims: bots.principal, ...of }];
}

const CLASSES = ['bot', 'user', 'address'] as const;
