import { isIP } from 'node:net';
import type { AddressLimits, IdentityModel, ProviderModel, Snapshot } from '../../../config/index.ts';
import { classOfApiKey, restrictedKey } from '../../../config/index.ts';
import { type ClassName, GatewayError } from '../../../core/index.ts';
import { principalOf } from '../../../identity/auth/index.ts';
import { addressKey, normalizeAddress } from '../../../wire/http/index.ts';
import { badApiRequest } from './operation.ts';
import type { Who } from './shapes.ts';

/** A client of the gateway, as limits and restrictions identify it. */
export interface ApiClient {
  readonly kind: ClassName;
  readonly key: string;
  /** The key in the table of restrictions. */
  readonly restrictedKey: string;
}

export interface ClientSources {
  snapshot(): Snapshot;
  /** The pseudonym of a caller in the log. */
  pseudonymOf(key: string): string;
}

/** Finds the client that a request may name; `null` if it names none. */
export function clientIn(who: Who, sources: ClientSources): ApiClient | GatewayError | null {
  if (Object.keys(who).length === 0) return null;
  return clientOf(who, sources.snapshot());
}

export function clientOf(
  { address, provider, client, subject, claims, as, key }: Who,
  { identity, limits }: Pick<Snapshot, 'identity'> & { readonly limits: AddressLimits },
): ApiClient | GatewayError {
  const given = new Map(Object.entries(claims ?? {}));
  if (client !== undefined) given.set('azp', client);
  if (subject !== undefined) given.set('sub', subject);
  if (address !== undefined)
    return given.size === 0 && as === undefined && provider === undefined
      ? clientAt(address, limits)
      : badApiRequest('Give address, or the parameters of a caller, not both.');
  if (key !== undefined) {
    const isAlone = given.size === 0 && as === undefined && provider === undefined;
    return isAlone ? callerOfKey(key, identity) : badApiRequest('key: give it alone.');
  }
  if (identity === null || identity.providers.length === 0)
    return badApiRequest('There is no identity_provider, so every client is an address: give address.');
  const found = providerOf(provider, identity);
  return found instanceof GatewayError ? found : callerWith(given, as ?? 'user', found);
}

function callerOfKey(name: string, identity: IdentityModel | null): ApiClient | GatewayError {
  const kind = classOfApiKey(name, identity);
  if (kind === null) return badApiRequest('key: no line of the file of API keys has this name.');
  const key = principalOf('key', [name]);
  return { kind, key, restrictedKey: key };
}

function clientAt(text: string, limits: AddressLimits): ApiClient | GatewayError {
  const address = addressOf(text);
  if (address instanceof GatewayError) return address;
  const key = addressKey(address, limits.keying);
  return { kind: 'address', key, restrictedKey: restrictedKey(address, limits) };
}

export function addressOf(text: string): string | GatewayError {
  const address = isIP(text) === 0 ? null : normalizeAddress(text);
  if (address !== null) return address;
  const [, host = ''] = /^([^/]*)\/\d+$/.exec(text) ?? [];
  return badApiRequest(
    isIP(host) === 0
      ? 'address: expected an IP address such as 192.0.2.7.'
      : 'address: this is a network, expected one IP address. "blocked" and "never_restrict" in limits.yaml take networks.',
  );
}

/** Requires the name of the provider if there are several, because callers of two providers may have the same claims. */
export function providerOf(
  name: string | undefined,
  { providers }: IdentityModel,
): ProviderModel | GatewayError {
  const [only, ...others] = providers.filter(each => name === undefined || each.name === name);
  if (only !== undefined && others.length === 0) return only;
  const names = providers.flatMap(each => each.name ?? []);
  return badApiRequest(
    names.length === 0
      ? 'There is only one provider, without a name: leave out provider.'
      : `Give provider, one of these: ${names.join(', ')}.`,
  );
}

function callerWith(
  given: ReadonlyMap<string, string>,
  kind: 'user' | 'bot',
  { accessTokens }: ProviderModel,
): ApiClient | GatewayError {
  const names = kind === 'user' ? accessTokens.principal : accessTokens.bots?.principal;
  if (names === undefined) return badApiRequest('There is no rule for bots: a bot counts as a user.');
  if (given.size !== names.length || !names.every(name => given.has(name)))
    return badApiRequest(
      `Give address, or exactly these for a ${kind}: ${names.map(parameterFor).join(', ')}.`,
    );
  const parts = names.map(name => given.get(name) ?? '');
  const { issuer, isOneOfSeveral } = accessTokens;
  const key = principalOf(kind, parts, isOneOfSeveral ? issuer : null);
  return { kind, key, restrictedKey: key };
}

function parameterFor(claim: string): string {
  if (claim === 'azp') return 'client';
  return claim === 'sub' ? 'subject' : `claims[${claim}]`;
}
