import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import {
  type AccessTokenOptions,
  KeySet,
  NOTICE_BUDGET,
  REVOCATION_LIMITS,
  Revocations,
  SeenNotices,
  VerificationBudget,
  Verifier,
} from '../auth/index.ts';
import type { IdentityModel, ProviderModel } from '../config/index.ts';
import type { Clock } from '../core/index.ts';
import { Identity, type RequestIdentity } from '../runtime/index.ts';
import { SILENT } from './silent-listener.ts';

/** Longer than any test lasts. */
const TOKEN_LIFE_S = 3_153_600_000;

/** The first issuer of a configuration, with a key of its own: the callers of a test have tokens that the gateway verifies. */
export class TestIssuer {
  readonly #options: AccessTokenOptions;
  readonly #clock: Clock;
  readonly #key: KeyObject;
  readonly #tokens = new Map<string, string>();
  readonly identity: RequestIdentity;

  private constructor(
    identity: IdentityModel,
    model: ProviderModel,
    clock: Clock,
    key: KeyObject,
    keys: KeySet,
  ) {
    this.#options = model.accessTokens;
    this.#clock = clock;
    this.#key = key;
    const common = { clock, listener: SILENT };
    const revocations = new Revocations(REVOCATION_LIMITS, clock, () => {});
    const notices = {
      ...common,
      budget: new VerificationBudget(NOTICE_BUDGET, clock),
      seen: new SeenNotices({ clock, claim: () => Promise.resolve(true) }),
    };
    const shared = { clock, random: () => 0, revocations, notices };
    const live = new Identity(identity, { ...shared, listenerOf: () => SILENT });
    const parts = { ...common, keys, revocations: revocations.of(model.provider.issuer), budget: null };
    this.identity = {
      verifier: new Verifier(model.accessTokens, model.cache, parts),
      signIn: live.signIn,
      notices: live.notices,
      endSession: caller => live.endSession(caller),
    };
  }

  /** Null: the configuration knows no tokens. */
  static async of(identity: IdentityModel | null, clock: Clock): Promise<TestIssuer | null> {
    const [model] = identity?.providers ?? [];
    if (identity === null || model === undefined) return null;
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const jwk = { ...publicKey.export({ format: 'jwk' }), alg: 'EdDSA', use: 'sig' };
    const fetch = () => Promise.resolve(JSON.stringify({ keys: [jwk] }));
    const keys = new KeySet(model.keySet, { fetch, clock, random: () => 0, listener: SILENT });
    await keys.refresh();
    keys.close();
    return new TestIssuer(identity, model, clock, privateKey, keys);
  }

  /** The claims that identify a user or a bot; null: no caller is a bot. */
  claimsOf(kind: 'user' | 'bot'): readonly string[] | null {
    const { principal, bots } = this.#options;
    return kind === 'user' ? principal : (bots?.principal ?? null);
  }

  /** The token of the caller with these values of those claims. */
  token(kind: 'user' | 'bot', values: readonly string[]): string {
    const id = JSON.stringify([kind, values]);
    const token = this.#tokens.get(id) ?? this.#sign(kind, values);
    this.#tokens.set(id, token);
    return token;
  }

  #sign(kind: 'user' | 'bot', values: readonly string[]): string {
    const { issuer, audience, bots } = this.#options;
    const issuedAtS = Math.floor(this.#clock.epochMs() / 1_000);
    const mark = kind === 'bot' && bots !== null ? { [bots.claim]: bots.value ?? 'test' } : {};
    const names = this.claimsOf(kind) ?? [];
    const claims = {
      ...{
        iss: issuer,
        aud: audience ?? 'test',
        iat: issuedAtS,
        exp: issuedAtS + TOKEN_LIFE_S,
        typ: 'Bearer',
      },
      ...mark,
      ...Object.fromEntries(names.map((name, i) => [name, values[i] ?? ''])),
    };
    const part = (content: unknown) => Buffer.from(JSON.stringify(content)).toString('base64url');
    const signed = `${part({ alg: 'EdDSA', typ: 'JWT' })}.${part(claims)}`;
    return `${signed}.${sign(null, Buffer.from(signed), this.#key).toString('base64url')}`;
  }
}
