import { type Clock, systemClock } from '../../src/core/index.ts';
import { atEnd } from './lifetime.ts';
import {
  type ScriptedOptions,
  type ScriptedProvider,
  scripts,
  startScriptedProvider,
} from './scripted-provider.ts';
import { secret } from './secrets.ts';
import { type IssuerKey, issuerKey, signToken } from './token-issuer.ts';

type Members = Readonly<Record<string, unknown>>;

/** A provider whose keys and tokens are the test's own. The end of the running test closes it. */
export class TestIssuer {
  readonly provider: ScriptedProvider;
  /** Signs `token`. */
  key: IssuerKey;
  /** What time it is for the issuer: `startGatewayOf` sets it as its gateway's, where that is the test's own. */
  clock: Clock = systemClock;

  constructor(provider: ScriptedProvider) {
    this.provider = provider;
    this.key = issuerKey('ES256', 'first');
    this.publish(this.key);
  }

  get url(): string {
    return this.provider.issuer;
  }

  /** The key set holds these from now on. */
  publish(...keys: readonly IssuerKey[]): void {
    this.provider.keys = scripts.json(200, { keys: keys.map(({ jwk }) => jwk) });
  }

  /** Claims of an access token of alice that was issued now and lives for five minutes. `claims` has the last word. */
  claims(claims: Members = {}): Members {
    const now = Math.floor(this.clock.epochMs() / 1_000);
    const usual = {
      iss: this.url,
      aud: 'api',
      azp: 'app',
      sub: 'alice',
      typ: 'Bearer',
      iat: now,
      exp: now + 300,
    };
    return { ...usual, ...claims };
  }

  /** A token with these claims and header members over the usual ones; undefined removes one. It is a `secret`. */
  token(claims: Members = {}, header: Members = {}): string {
    return secret(signToken(this.key, this.claims(claims), header));
  }

  /** The header line that carries such a token. */
  bearer(claims: Members = {}, header: Members = {}): string {
    return `Authorization: Bearer ${this.token(claims, header)}`;
  }
}

export async function startIssuer(options: ScriptedOptions = {}): Promise<TestIssuer> {
  const provider = await startScriptedProvider(options);
  atEnd(() => provider.close());
  return new TestIssuer(provider);
}

/**
 * Claims of a token that is older than the gateway's keys, so that no newer key can have signed it: with a wrong signature it is
 * 401. A younger one is 503 until the keys were fetched again.
 */
export function aMinuteAgo(): { readonly iat: number } {
  return { iat: Math.floor(Date.now() / 1_000) - 60 };
}

/** Claims of a token that is issued now by this clock and lives for so many seconds. */
export function validFor(seconds: number, clock: Clock): { readonly iat: number; readonly exp: number } {
  const iat = Math.floor(clock.epochMs() / 1_000);
  return { iat, exp: iat + seconds };
}
