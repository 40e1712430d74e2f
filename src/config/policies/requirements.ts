import { z } from 'zod';
import type { ClaimRule, Requirement, Role } from '../../identity/auth/index.ts';
import { eachOnce, mapExpected, mapOf, text } from '../values/index.ts';

const SCOPE = 'expected scopes, each one word, such as [orders.read]';
const ROLE = 'expected a role of the realm such as clerk, or of a client such as "orders-api:clerk"';
const VALUE = 'expected text, a number, true or false, or a list of them, of which one suffices';
export const NOTHING = 'requires nothing: write scopes, roles or claims, or leave it out';

/** Scopes contain no blanks, quotes or backslashes (RFC 6749, 3.3), so that a challenge can include them unchanged. */
export const scopeText = () =>
  z.string({ error: SCOPE }).regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, { error: SCOPE });

export const roleEntry = z.union(
  [
    text(ROLE)
      .refine(written => (written.match(/:/g) ?? []).length <= 1, {
        error:
          'it is not clear where the client ends: write { client: orders-api, role: "a:b" }, or { role: "a:b" } for a role of the realm',
      })
      .refine(written => !/^:|:$/.test(written), { error: ROLE }),
    z.strictObject({
      client: text('expected the id of a client')
        .optional()
        .describe('The id of the client whose role it is. Left out: a role of the realm.'),
      role: text('expected the name of a role').describe('The name of the role, which may contain colons.'),
    }),
  ],
  { error: ROLE },
);

const scalar = z.union([z.string(), z.number(), z.boolean()], { error: VALUE }).transform(String);
const values = z.union([scalar, listOf(scalar, VALUE)], { error: VALUE });

function listOf<Entry extends z.ZodType>(entry: Entry, error: string) {
  return z
    .array(entry, { error })
    .min(1, { error: 'an empty list requires nothing: leave it out' })
    .superRefine(eachOnce);
}

export const requireSchema = mapOf('{ scopes: [orders.read] }', {
  scopes: listOf(scopeText(), SCOPE)
    .optional()
    .describe('Scopes that the token must have, all of them. Letter case is significant.'),
  roles: listOf(roleEntry, ROLE)
    .optional()
    .describe(
      'Roles that the caller must have, all of them: clerk of the realm (or of a claim under access_tokens.roles), "orders-api:clerk" of the client orders-api.',
    ),
  claims: z
    .record(text('expected the name of a claim'), values, mapExpected('{ plan: [gold, partner] }'))
    .refine(claims => Object.keys(claims).length > 0, { error: NOTHING })
    .optional()
    .describe(
      'Claims that the token must have, all of them, each with a value or with a list of values of which one suffices.',
    ),
})
  .optional()
  .describe(
    'What a valid token must have for this route; a caller whose token lacks any of it gets 403. Left out: any valid token will do.',
  );

export type RequireConfig = NonNullable<z.output<typeof requireSchema>>;

export class Requirements {
  readonly #all = new Map<string, Requirement>();

  constructor(routes: readonly { readonly require?: RequireConfig | undefined }[]) {
    for (const { require } of routes) if (require !== undefined) this.#add(require);
  }

  /** Every requirement once, in the order of indexes. */
  get all(): readonly Requirement[] {
    return [...this.#all.values()];
  }

  /** The scopes that any route requires, each once and in order. */
  get scopes(): readonly string[] {
    return [...new Set(this.all.flatMap(({ scopes }) => scopes))].sort();
  }

  of(config: RequireConfig): Requirement {
    const found = this.#all.get(keyOf(config));
    if (found === undefined) throw new Error('a requirement of no route');
    return found;
  }

  #add(config: RequireConfig): void {
    const key = keyOf(config);
    if (!this.#all.has(key)) this.#all.set(key, { index: this.#all.size, ...partsOf(config) });
  }
}

function keyOf(config: RequireConfig): string {
  return JSON.stringify(partsOf(config));
}

/** Sort them, so that the order in the file does not matter. */
function partsOf({ scopes = [], roles = [], claims = {} }: RequireConfig): Omit<Requirement, 'index'> {
  const named = Object.entries(claims).map(
    ([claim, listed]): ClaimRule => ({
      claim,
      values: (typeof listed === 'string' ? [listed] : listed).toSorted(),
    }),
  );
  return {
    scopes: scopes.toSorted(),
    roles: sorted(roles.map(roleOf), formatRole),
    claims: sorted(named, ({ claim }) => claim),
  };
}

function sorted<T>(list: readonly T[], by: (entry: T) => string): T[] {
  return list.toSorted((a, b) => (by(a) < by(b) ? -1 : 1));
}

/** Splits "orders-api:clerk" into the client and its role. */
export function roleOf(written: NonNullable<RequireConfig['roles']>[number]): Role {
  if (typeof written !== 'string') return { client: written.client ?? null, name: written.role };
  const [first = '', second] = written.split(':');
  return second === undefined ? { client: null, name: first } : { client: first, name: second };
}

function formatRole({ client, name }: Role): string {
  return client === null ? name : `${name} of the client ${client}`;
}

/** A requirement in words: `the scope orders.read`, `the claim plan: gold or partner`. */
export function describeRequirement({ scopes, roles, claims }: Requirement): string[] {
  return [
    ...scopes.map(scope => `the scope ${scope}`),
    ...roles.map(role => `the role ${formatRole(role)}`),
    ...claims.map(({ claim, values }) => `the claim ${claim}: ${values.join(' or ')}`),
  ];
}
