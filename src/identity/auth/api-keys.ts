import { hash } from 'node:crypto';
import type * as core from '../../core/index.ts';
import type { TokenBudget } from './budget.ts';
import { type Caller, identityFields, NO_CLAIMS, principalOf, type Spent } from './caller.ts';
import type { IdentityHeader, Requirement, Role } from './options.ts';
import { judgeRequirements } from './requirement.ts';
import { type Invalid, invalid } from './token/index.ts';
import type { LastingVerifier } from './verifier.ts';

export interface ApiKeyLine {
  readonly name: string;
  /** The SHA-256 of each of its keys, in lower-case hex. */
  readonly digests: readonly string[];
  /** The class that decides its limits; `null` for that of its kind. */
  readonly class: core.ClassName | null;
  readonly isBot: boolean;
  readonly scopes: readonly string[];
  readonly roles: readonly Role[];
  /** When its keys stop being valid, since the epoch; `null` for never. */
  readonly notAfterMs: number | null;
}

export interface ApiKeyOptions {
  readonly lines: readonly ApiKeyLine[];
  readonly identityHeaders: readonly IdentityHeader[];
  readonly requirements: readonly Requirement[];
}

interface ApiKeyDependencies {
  /** The budget of failed verifications; `null` if they are not limited. */
  readonly budget: TokenBudget | null;
  readonly clock: core.Clock;
  readonly listener: Pick<core.AuthListener, 'tokenKnown' | 'tokenRefused' | 'budgetSpent'>;
}

/** A key: a fixed prefix, by which scanners for secrets recognise it, and 256 random bits in base64url. */
const KEY = /^weir_[A-Za-z0-9_-]{43}$/;

/** Makes the text of a key from 256 random bits. */
export function apiKeyOf(random: Buffer): string {
  return `weir_${random.toString('base64url')}`;
}

/** The digest of a key, as the file lists it. Keys are random, so nothing slower than SHA-256 is needed. */
export function digestOfApiKey(key: string): string {
  return hash('sha256', key, 'hex');
}

type Callers = ReadonlyMap<string, Caller>;

/**
 * The API keys in use. Stays the same through reloads: streams keep this, so that they do not keep the files of earlier
 * configurations in memory.
 */
export class KeysInUse implements LastingVerifier {
  #callers: Callers;
  #parts: ApiKeyDependencies;

  constructor(callers: Callers, parts: ApiKeyDependencies) {
    this.#callers = callers;
    this.#parts = parts;
  }

  use(callers: Callers, parts: ApiKeyDependencies): void {
    this.#callers = callers;
    this.#parts = parts;
  }

  /** A reload that removes the line of a caller, or the key that it used, ends the caller's streams. */
  endOf({ session, principal }: Caller): core.TokenEnd | null {
    const caller = this.#callers.get(session);
    if (caller?.principal !== principal) return 'inactive';
    return this.#parts.clock.epochMs() >= caller.expiresAtMs ? 'expired' : null;
  }

  refuse(refusal: Invalid): Invalid {
    this.#parts.listener.tokenRefused(refusal.reason, refusal.claim);
    return refusal;
  }
}

/**
 * Turns API keys into callers. All callers are made in advance. A key is found by its digest, so neither the time of a lookup nor
 * the memory of the process reveals a key.
 */
export class ApiKeys {
  /** Shared with the configurations before and after. */
  readonly inUse: KeysInUse;
  readonly #callers: Callers;
  readonly #parts: ApiKeyDependencies;

  /** @param before the API keys of the configuration in use, if it has any */
  constructor(options: ApiKeyOptions, parts: ApiKeyDependencies, before: ApiKeys | null = null) {
    const callers = options.lines.flatMap(line =>
      line.digests.map(digest => [digest, callerOf(line, digest, options)] as const),
    );
    this.#callers = new Map(callers);
    this.#parts = parts;
    this.inUse = before === null ? new KeysInUse(this.#callers, parts) : before.inUse;
  }

  verify(key: string, address: string): Caller | Invalid | Spent {
    if (!KEY.test(key)) return invalid('malformed');
    const caller = this.#callers.get(digestOfApiKey(key));
    if (caller !== undefined) {
      if (this.#accepts(caller)) return caller;
      return { ...invalid('expired'), principal: caller.principal };
    }
    const { budget, listener } = this.#parts;
    const waitMs = budget?.waitMs(address) ?? 0;
    if (waitMs > 0) {
      listener.budgetSpent();
      return { kind: 'spent', retryAfterMs: waitMs };
    }
    budget?.failed(address, 1);
    return invalid('unknown_api_key');
  }

  remembered(key: string): Caller | null {
    const caller = KEY.test(key) ? this.#callers.get(digestOfApiKey(key)) : undefined;
    return caller !== undefined && this.#accepts(caller) ? caller : null;
  }

  #accepts(caller: Caller): boolean {
    const accepted = this.#parts.clock.epochMs() < caller.expiresAtMs;
    if (accepted) this.#parts.listener.tokenKnown();
    return accepted;
  }

  /** Puts these keys into use. */
  serve(): void {
    this.inUse.use(this.#callers, this.#parts);
  }

  /** Called when a configuration without keys replaces this one. */
  retire(): void {
    this.inUse.use(new Map(), this.#parts);
  }
}

function callerOf(
  line: ApiKeyLine,
  digest: string,
  { identityHeaders, requirements }: ApiKeyOptions,
): Caller {
  const kind = line.isBot ? 'bot' : 'user';
  const named = { sub: line.name, azp: line.name };
  return {
    issuedAtS: 0,
    subject: null,
    session: digest,
    unnamedSessions: null,
    passedVersion: 0,
    issuer: '',
    tenant: null,
    key: null,
    askedAtMs: null,
    certificate: null,
    proofKey: null,
    claims: NO_CLAIMS,
    kind,
    class: line.class ?? kind,
    // Never equals the principal of a token, which begins with another word.
    principal: principalOf('key', [line.name]),
    expiresAtMs: line.notAfterMs ?? Number.POSITIVE_INFINITY,
    identityFields: identityFields(named, identityHeaders),
    shortfalls: judgeRequirements(grantsOf(line), requirements, [], false),
  };
}

/** What a line grants, in the form of claims. */
function grantsOf({ scopes, roles }: ApiKeyLine) {
  const namesOf = (client: string | null) =>
    roles.filter(role => role.client === client).map(({ name }) => name);
  const clients = [...new Set(roles.flatMap(({ client }) => client ?? []))];
  return {
    scope: scopes,
    realm_access: { roles: namesOf(null) },
    resource_access: Object.fromEntries(clients.map(client => [client, { roles: namesOf(client) }])),
  };
}
