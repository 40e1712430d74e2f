import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { type AccessTokenOptions, KeySet, type Revocations, TracingRoom, Verifier } from '../auth/index.ts';
import type { ProviderModel } from '../config/index.ts';
import type { Clock } from '../core/index.ts';
import { SILENT } from './silent-listener.ts';

/** Longer than any test lasts. */
const TOKEN_LIFE_S = 3_153_600_000;

/** An issuer of a configuration, with a key of its own: its callers have tokens that the gateway verifies. */
export class TestIssuer {
  /** Null: it has none, since it is the only one. */
  readonly name: string | null;
  readonly verifier: Verifier;
  readonly #options: AccessTokenOptions;
  readonly #clock: Clock;
  readonly #key: KeyObject;
  readonly #tokens = new Map<string, string>();

  private constructor(model: ProviderModel, verifier: Verifier, clock: Clock, key: KeyObject) {
    this.name = model.name;
    this.verifier = verifier;
    this.#options = model.accessTokens;
    this.#clock = clock;
    this.#key = key;
  }

  static async of(model: ProviderModel, revocations: Revocations, clock: Clock): Promise<TestIssuer> {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const jwk = { ...publicKey.export({ format: 'jwk' }), alg: 'EdDSA', use: 'sig' };
    const fetch = () => Promise.resolve(JSON.stringify({ keys: [jwk] }));
    const keys = new KeySet(model.keySet, { fetch, clock, random: () => 0, listener: SILENT });
    await keys.refresh();
    keys.close();
    const verifier = new Verifier(model.accessTokens, model.cache, {
      ...{ clock, listener: SILENT, keys, budget: null, tracing: new TracingRoom(clock) },
      revocations: revocations.of(model.provider.issuer),
    });
    return new TestIssuer(model, verifier, clock, privateKey);
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
