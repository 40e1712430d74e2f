import type { Requirement } from '../../identity/auth/index.ts';
import { compareLists, type Difference } from '../difference.ts';
import { isMap } from '../file/index.ts';
import { routePolicy } from './policy.ts';
import { describeRequirement, NOTHING, requireSchema } from './requirements.ts';

export const requires = routePolicy({
  keys: { require: requireSchema },
  own: ['require'],
  compile: ({ require }, { requirements }) => ({
    /** What tokens must contain in addition to being valid: else 403. `null` if any valid token is enough. */
    requirement: require === undefined ? null : requirements.of(require),
  }),
  check(route) {
    const { require, authentication } = route.raw;
    if (isMap(require) && Object.keys(require).length === 0) route.add('require', NOTHING);
    const message =
      'no caller could meet it: "authentication: none" ignores tokens. Leave out one of the two';
    if (require !== undefined && authentication === 'none') route.addKey('require', message);
  },
  section: 'caller',
  describe: ({ requirement }) => ({
    requires: requirement && [...describeRequirement(requirement), 'else 403, without using the bucket'],
  }),
  compare: ({ requirement: now }, { requirement: before }) => compareRequirements(now, before),
});

const NONE: Requirement = { index: -1, scopes: [], roles: [], claims: [] };

function compareRequirements(to: Requirement | null, from: Requirement | null): Difference[] {
  const [now, before] = [to ?? NONE, from ?? NONE];
  const names = new Set(before.claims.map(({ claim }) => claim));
  const inBoth = new Set(now.claims.map(({ claim }) => claim).filter(claim => names.has(claim)));
  const demandsOf = ({ claims, ...others }: Requirement) =>
    describeRequirement({ ...others, claims: claims.filter(({ claim }) => !inBoth.has(claim)) });
  // Requiring less admits more callers, so it is looser.
  const verbs = { removed: 'requires', added: 'no longer requires' };
  return [
    ...compareLists(demandsOf(before), demandsOf(now), verbs),
    ...[...inBoth].flatMap(claim =>
      compareLists(valuesOf(now, claim), valuesOf(before, claim), {
        removed: `the claim ${claim} may no longer be`,
        added: `the claim ${claim} may also be`,
      }),
    ),
  ];
}

function valuesOf({ claims }: Requirement, name: string): readonly string[] {
  return claims.find(({ claim }) => claim === name)?.values ?? [];
}
