import { randomBytes } from 'node:crypto';
import { vi } from 'vitest';
import { type AuthListener, ownMemory, systemClock, type TableMemory } from '../../../../src/core/index.ts';
import {
  type AccessTokenOptions,
  type BudgetOptions,
  type CacheOptions,
  type IssuerRevocations,
  KeySet,
  OwnerChecks,
  REVOCATION_LIMITS,
  Revocations,
  type Verdict,
  VerificationBudget,
  Verifier,
} from '../../../../src/identity/auth/index.ts';
import type { RevocationSharing } from '../../../../src/identity/auth/revocation-rules.ts';
import { BUDGET_OPTIONS, CACHE_OPTIONS, KEY_SET_OPTIONS } from '../../../support/identity-options.ts';
import { type IssuerKey, issuerKey, keySetJson } from '../../../support/token-issuer.ts';

/** Other gateways that hear what one announces. */
export const hearing = (announce: RevocationSharing['announce']): RevocationSharing => ({
  announce,
  withdraw() {},
});

/** The moment at which every test begins: 2026-11-21T12:00:00Z. */
export const START_MS = 1_795_262_400_000;
export const START_S = START_MS / 1_000;

export const ADDRESS = '192.0.2.1';

/** Keys that every test file may sign with; making RSA keys takes long. */
export const rsa = issuerKey('RS256', 'rsa-1');
export const rsaNext = issuerKey('RS256', 'rsa-2');
export const ecdsa = issuerKey('ES256', 'ec-1');

export const options: AccessTokenOptions = {
  issuer: 'https://id.example.com/realms/main',
  tenants: null,
  isOneOfSeveral: false,
  audience: ['api'],
  audienceClaim: 'aud',
  tokenKind: 'access',
  clientId: 'gateway',
  principal: ['azp', 'sub'],
  bots: { claim: 'client_id', value: null, principal: ['azp'] },
  identityHeaders: [
    { name: 'X-Auth-Subject', claim: 'sub' },
    { name: 'X-Auth-Client', claim: 'azp' },
  ],
  classes: [],
  keptClaims: [],
  requirements: [],
  roleClaims: [],
  dpop: 'off',
  leewayMs: 30_000,
  maxLifetimeMs: null,
};

/** The claims of a user's access token as Keycloak writes them, valid for five minutes from the start. */
export const claims = {
  iss: options.issuer,
  aud: ['api', 'account'],
  exp: START_S + 300,
  iat: START_S,
  azp: 'web',
  sub: 'ada',
  typ: 'Bearer',
};

/** Time that moves only by `vi.advanceTimersByTime`; the caller has called `freezeTime`. */
export const clock = { ...systemClock, epochMs: () => Date.now(), monotonicMs: () => Date.now() - START_MS };

export function freezeTime(): void {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: START_MS });
}

/** An issuer's key set endpoint, controlled by the test. */
export class ScriptedIssuer {
  state: 'up' | 'failing' | 'hanging' = 'up';
  keys: readonly IssuerKey[];
  fetches = 0;

  constructor(...keys: IssuerKey[]) {
    this.keys = keys;
  }

  readonly fetch = async (): Promise<string> => {
    this.fetches += 1;
    const { state, keys } = this;
    if (state === 'failing') throw new Error('connection refused');
    if (state === 'hanging') return new Promise(() => {});
    return keySetJson(keys);
  };
}

/** Keeps what was announced, in order: the event's name, then its values. */
export class Recorder implements AuthListener {
  readonly events: unknown[][] = [];
  tokenKnown = () => this.#add('tokenKnown');
  signatureChecked = (...values: unknown[]) => this.#add('signatureChecked', ...values);
  tokenRefused = (...values: unknown[]) => this.#add('tokenRefused', ...values);
  proofAccepted = () => this.#add('proofAccepted');
  tokenUndecided = () => this.#add('tokenUndecided');
  budgetSpent = () => this.#add('budgetSpent');
  keySetLoaded = (...values: unknown[]) => this.#add('keySetLoaded', ...values);
  keySetFailed = (...values: unknown[]) => this.#add('keySetFailed', ...values);
  revocationEvicted = () => this.#add('revocationEvicted');

  count(name: keyof AuthListener): number {
    return this.events.filter(event => event[0] === name).length;
  }

  #add(...event: unknown[]): void {
    this.events.push(event);
  }
}

export interface Room {
  readonly issuer: ScriptedIssuer;
  readonly keys: KeySet;
  readonly revocations: IssuerRevocations;
  readonly recorder: Recorder;
  readonly verifier: Verifier;
  /** What the token is found to be, awaited where it has to be, in few words. */
  judge(token: string, address?: string): Promise<string>;
}

export interface RoomOptions {
  readonly access?: Partial<AccessTokenOptions>;
  readonly cache?: Partial<CacheOptions>;
  readonly budget?: Partial<BudgetOptions> | null;
  /** Shared with another thread. Default: memory of its own. */
  readonly memory?: TableMemory | undefined;
  /** As in `KeySetDependencies`. */
  readonly ask?: (keys: () => KeySet) => Promise<boolean>;
}

/** The room put together around a scripted issuer whose keys are loaded, unless it is not up. Time has to be frozen. */
export async function openRoom(issuer: ScriptedIssuer, changed: RoomOptions = {}): Promise<Room> {
  const recorder = new Recorder();
  const { ask, memory = ownMemory(randomBytes) } = changed;
  const keys: KeySet = new KeySet(KEY_SET_OPTIONS, {
    fetch: issuer.fetch,
    ask: ask && (() => ask(() => keys)),
    clock,
    random: () => 0,
    listener: recorder,
  });
  const revocations = new Revocations(REVOCATION_LIMITS, clock, recorder.revocationEvicted).of(
    options.issuer,
  );
  const budget =
    changed.budget === null
      ? null
      : new VerificationBudget({ ...BUDGET_OPTIONS, ...changed.budget }, clock, memory, 'tokens');
  const ownerChecks = new OwnerChecks(clock, memory);
  const dependencies = { keys, revocations, budget, ownerChecks, clock, listener: recorder };
  const verifier = new Verifier(
    { ...options, ...changed.access },
    { ...CACHE_OPTIONS, ...changed.cache },
    dependencies,
  );
  const first = keys.refresh();
  if (issuer.state === 'hanging') await vi.advanceTimersByTimeAsync(KEY_SET_OPTIONS.fetchTimeoutMs);
  await first;
  const judge = async (token: string, address = ADDRESS) => inWords(await verifier.verify(token, address));
  return { issuer, keys, revocations, recorder, verifier, judge };
}

/** `user web ada`, `invalid expired`, `invalid claim exp`, `unavailable 5`, `spent 60000`. */
export function inWords(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'bot':
    case 'user':
      return verdict.principal.replace(':', ' ');
    case 'invalid':
      return `invalid ${verdict.reason}${verdict.claim === null ? '' : ` ${verdict.claim}`}`;
    case 'unavailable':
      return `unavailable ${Math.ceil(verdict.retryAfterMs / 1_000)}`;
    case 'unanswered':
      return `unanswered ${verdict.error.status}`;
    case 'spent':
      return `spent ${verdict.retryAfterMs}`;
  }
}
