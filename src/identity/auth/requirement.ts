import type { Requirement, Role } from './options.ts';
import { claimAt, holdsOne, isJsonObject, type JsonObject, member } from './token/index.ts';

/** What a token lacks. If it lacks several, the first of these counts. */
export type Shortfall = 'scopes' | 'roles' | 'claims';

/** The letter of each outcome. A requirement without a letter counts as not met. */
const MET = 'm';
const LACKING: Readonly<Record<Shortfall, string>> = { scopes: 's', roles: 'r', claims: 'c' };

/**
 * Checks the claims of a verified token against every requirement. Returns one letter per requirement, in order: a short text,
 * because up to 50,000 callers keep one.
 *
 * @param roleClaims further claims that list roles
 * @param hasClaims false for an API key, which grants scopes and roles alone
 */
export function judgeRequirements(
  claims: JsonObject,
  requirements: readonly Requirement[],
  roleClaims: readonly string[],
  hasClaims = true,
): string {
  if (requirements.length === 0) return '';
  const granted = new Granted(claims, roleClaims);
  return requirements
    .map(requirement => {
      const isUnmet = !hasClaims && requirement.claims.length > 0;
      const shortfall = granted.shortfallOf(requirement) ?? (isUnmet ? 'claims' : null);
      return shortfall === null ? MET : LACKING[shortfall];
    })
    .join('');
}

/** What a token lacks for a requirement, by the letters of `judgeRequirements`; `null` if nothing. */
export function shortfallIn(shortfalls: string, { index }: Requirement): Shortfall | null {
  const letter = shortfalls.charAt(index);
  if (letter === MET) return null;
  if (letter === LACKING.scopes) return 'scopes';
  return letter === LACKING.roles ? 'roles' : 'claims';
}

/** What a token grants. A claim may have any type: one in an unexpected form grants nothing. */
class Granted {
  readonly #claims: JsonObject;
  readonly #scopes: ReadonlySet<string>;
  readonly #realmRoles: ReadonlySet<string>;

  constructor(claims: JsonObject, roleClaims: readonly string[]) {
    this.#claims = claims;
    this.#scopes = scopesIn(claims);
    const ofClaims = roleClaims.flatMap(name => namesIn(claimAt(claims, name)));
    this.#realmRoles = new Set([...rolesIn(member(claims, 'realm_access')), ...ofClaims]);
  }

  shortfallOf({ scopes, roles, claims }: Requirement): Shortfall | null {
    if (!scopes.every(scope => this.#scopes.has(scope))) return 'scopes';
    if (!roles.every(role => this.#hasRole(role))) return 'roles';
    return claims.every(({ claim, values }) => holdsOne(claimAt(this.#claims, claim), values))
      ? null
      : 'claims';
  }

  #hasRole({ client, name }: Role): boolean {
    if (client === null) return this.#realmRoles.has(name);
    const access = member(this.#claims, 'resource_access');
    return isJsonObject(access) && rolesIn(member(access, client)).includes(name);
  }
}

/** `scope` is words separated by spaces (RFC 9068, 2.2.3). Other providers write `scp`, or a list under either name. */
function scopesIn(claims: JsonObject): ReadonlySet<string> {
  return new Set(['scope', 'scp'].flatMap(name => wordsIn(member(claims, name))));
}

/** The words of a text, or the texts of a list. */
function wordsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.split(' ');
  return Array.isArray(value) ? textsIn(value) : [];
}

/** Returns the `roles` of an object: Keycloak has one for the realm and one per client. */
function rolesIn(access: unknown): readonly string[] {
  if (!isJsonObject(access)) return [];
  const roles = member(access, 'roles');
  return Array.isArray(roles) ? textsIn(roles) : [];
}

/** A text, the texts of a list, or the names of an object's members, as ZITADEL lists roles. */
function namesIn(value: unknown): readonly string[] {
  return isJsonObject(value) ? Object.keys(value) : textsIn(value);
}

function textsIn(value: unknown): readonly string[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.filter(each => typeof each === 'string');
}
