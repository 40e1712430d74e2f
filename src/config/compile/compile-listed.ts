import { principalOf } from '../../auth/index.ts';
import { AddressSet } from '../../http/index.ts';
import type { Listed } from '../model/index.ts';
import type { LimitsConfig } from '../schema/index.ts';
import { type CallerClaims, keyOfClaim, kindsOf, listedCaller } from './caller-claims.ts';

type Entry = LimitsConfig['never_restrict'][number];

export function blockedIn(
  { addresses, callers }: LimitsConfig['blocked'],
  classes: readonly CallerClaims[],
): Listed | null {
  return addresses.length + callers.length === 0 ? null : listedIn([...addresses, ...callers], classes);
}

export function listedIn(entries: readonly Entry[], classes: readonly CallerClaims[]): Listed {
  const callers = entries.filter(entry => typeof entry !== 'string');
  return {
    addresses: new AddressSet(entries.filter(entry => typeof entry === 'string')),
    callers: new Set(callers.flatMap(caller => principalsOf(caller, classes))),
  };
}

/** More than one where bots and users, or the users of several providers, are identified by the same claims. */
function principalsOf(entry: Readonly<Record<string, string>>, classes: readonly CallerClaims[]): string[] {
  return kindsOf(listedCaller(entry, classes), classes).map(({ kind, claims, issuer }) =>
    principalOf(
      kind,
      claims.map(claim => entry[keyOfClaim(claim)] ?? ''),
      issuer,
    ),
  );
}
