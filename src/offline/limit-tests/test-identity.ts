import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { IdentityModel, ProviderModel } from '../../config/index.ts';
import {
  alone,
  type NoticeListener,
  ownMemory,
  silent,
  type TimerClock,
  thisMachine,
} from '../../core/index.ts';
import { Identity, type RequestIdentity, SharedIssuers } from '../../gateway/runtime/index.ts';
import {
  type AccessTokenOptions,
  IssuerVerifiers,
  KeySet,
  NOTICE_BUDGET,
  Nonces,
  OwnerChecks,
  ProofKeys,
  REVOCATION_LIMITS,
  Revocations,
  SeenNotices,
  SeenProofs,
  VerificationBudget,
  Verifier,
} from '../../identity/auth/index.ts';

/** Issuers that sign the tokens of a test, and the identity that verifies them. */
export interface TestIdentity {
  readonly identity: RequestIdentity;
  /** The issuers in the order of the file; at least one. */
  readonly issuers: readonly TestIssuer[];
}

export async function testIdentity(model: IdentityModel, clock: TimerClock): Promise<TestIdentity> {
  const revocations = new Revocations(REVOCATION_LIMITS, clock, () => {});
  const issuers = await Promise.all(
    model.providers.map(provider => TestIssuer.of(provider, revocations, clock)),
  );
  const part = alone({ ...thisMachine, clock });
  const { memory, permits } = part;
  const budget = new VerificationBudget(NOTICE_BUDGET, clock, memory, 'unused');
  const notices = {
    clock,
    listener: silent<NoticeListener>(),
    budget,
    soon: memory.soon,
    seen: new SeenNotices({ clock, claim: () => Promise.resolve(true) }),
    allKnow: () => part.allKnow(),
  };
  const shared = { ...thisMachine, clock, random: () => 0, revocations, notices, budget };
  const live = new Identity(model, {
    ...shared,
    listenerOf: () => silent(),
    ownerChecks: new OwnerChecks(clock, memory),
    permits,
    issuers: new SharedIssuers(part),
    proofs: {
      seen: new SeenProofs(1, clock, memory),
      keys: new ProofKeys(),
      nonces: new Nonces(memory.secret('nonces', 32), clock),
      claimElsewhere: null,
    },
  });
  const verifiers = issuers.map(({ verifier }) => verifier);
  const [only, ...others] = verifiers;
  return {
    issuers,
    identity: {
      verifier: only !== undefined && others.length === 0 ? only : new IssuerVerifiers(verifiers, silent()),
      apiKeys: live.apiKeys,
      signIn: live.signIn,
      notices: live.notices,
      endSession: caller => live.endSession(caller),
      introspect: () => 'active',
      // The requests of a test contain no proofs.
      proofs: null,
    },
  };
}

/** The lifetime of tokens: 100 years, longer than any test. */
const TOKEN_LIFE_S = 3_153_600_000;

type Claims = Readonly<Record<string, unknown>>;

/** Stands in for an issuer of the configuration: signs tokens with its own key, which the gateway trusts. */
export class TestIssuer {
  /** Its name in the configuration; `null` for the only one. */
  readonly name: string | null;
  readonly verifier: Verifier;
  readonly #options: AccessTokenOptions;
  readonly #clock: TimerClock;
  readonly #key: KeyObject;
  readonly #tokens = new Map<string, string>();

  private constructor(model: ProviderModel, verifier: Verifier, clock: TimerClock, key: KeyObject) {
    this.name = model.name;
    this.verifier = verifier;
    this.#options = model.accessTokens;
    this.#clock = clock;
    this.#key = key;
  }

  static async of(model: ProviderModel, revocations: Revocations, clock: TimerClock): Promise<TestIssuer> {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const jwk = { ...publicKey.export({ format: 'jwk' }), alg: 'EdDSA', use: 'sig' };
    const fetch = () => Promise.resolve(JSON.stringify({ keys: [jwk] }));
    const keys = new KeySet(model.keySet, { fetch, clock, random: () => 0, listener: silent() });
    await keys.refresh();
    keys.close();
    // In a test, callers are identified by the claims that it names, one of which may be the claim of the audience.
    const options = { ...model.accessTokens, audience: null };
    const verifier = new Verifier(options, model.cache, {
      clock,
      listener: silent(),
      keys,
      budget: null,
      ownerChecks: new OwnerChecks(clock, ownMemory(thisMachine.randomBytes)),
      revocations: revocations.of(model.provider.issuer),
    });
    return new TestIssuer(model, verifier, clock, privateKey);
  }

  /** The claims that identify a user or a bot; `null` if no caller is a bot. */
  claimsOf(kind: 'user' | 'bot'): readonly string[] | null {
    const { principal, bots } = this.#options;
    return kind === 'user' ? principal : (bots?.principal ?? null);
  }

  /** The token of a caller of this kind. `values`: of the claims that identify it; `further`: additional claims. */
  token(kind: 'user' | 'bot', values: readonly string[], further: Claims): string {
    const id = JSON.stringify([kind, values, further]);
    const token = this.#tokens.get(id) ?? this.#sign(kind, values, further);
    this.#tokens.set(id, token);
    return token;
  }

  #sign(kind: 'user' | 'bot', values: readonly string[], further: Claims): string {
    const { issuer, bots } = this.#options;
    const issuedAtS = Math.floor(this.#clock.epochMs() / 1_000);
    const mark = kind === 'bot' && bots !== null ? { [bots.claim]: bots.value ?? 'test' } : {};
    const names = this.claimsOf(kind) ?? [];
    const claims = {
      ...further,
      iss: issuer,
      iat: issuedAtS,
      exp: issuedAtS + TOKEN_LIFE_S,
      typ: 'Bearer',
      ...mark,
      ...Object.fromEntries(names.map((name, i) => [name, values[i] ?? ''])),
    };
    const part = (content: unknown) => Buffer.from(JSON.stringify(content)).toString('base64url');
    const signed = `${part({ alg: 'EdDSA', typ: 'JWT' })}.${part(claims)}`;
    return `${signed}.${sign(null, Buffer.from(signed), this.#key).toString('base64url')}`;
  }
}
