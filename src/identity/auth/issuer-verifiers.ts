import { type AuthListener, hashOfToken, type RevocationReason, tenantIn } from '../../core/index.ts';
import type { Caller, Verdict } from './caller.ts';
import { type Invalid, invalid, lacking, member, parseJwt } from './token/index.ts';
import type { TokenVerifier, Verifier } from './verifier.ts';

/**
 * Turns the tokens of several issuers into callers. The unverified `iss` only selects the keys and rules; that issuer's verifier
 * then checks everything. So an issuer with unavailable keys does not affect the tokens of others.
 */
export class IssuerVerifiers implements TokenVerifier {
  readonly #verifiers: readonly Verifier[];
  readonly #byIssuer: ReadonlyMap<unknown, Verifier>;
  readonly #listener: Pick<AuthListener, 'tokenRefused'>;

  /** @param listener is notified of tokens of unknown issuers; each verifier reports its own */
  constructor(verifiers: readonly Verifier[], listener: Pick<AuthListener, 'tokenRefused'>) {
    this.#verifiers = verifiers;
    this.#byIssuer = new Map(verifiers.map(verifier => [verifier.issuer, verifier]));
    this.#listener = listener;
  }

  verify(token: string, address: string): Verdict | Promise<Verdict> {
    const tokenHash = hashOfToken(token);
    // Look it up first: that costs less than parsing the token to learn its issuer.
    for (const verifier of this.#verifiers) {
      const known = verifier.recall(tokenHash);
      if (known !== null) return known;
    }
    const jwt = parseJwt(token);
    if (jwt.kind === 'invalid') return this.refuse(jwt);
    const issuer = member(jwt.claims, 'iss');
    const verifier = typeof issuer === 'string' ? this.#verifierOf(issuer) : undefined;
    if (verifier !== undefined) return verifier.judge(jwt, tokenHash, address);
    return this.refuse(typeof issuer === 'string' ? invalid('issuer') : lacking('iss'));
  }

  /** The configuration is checked: no issuer has two verifiers. */
  #verifierOf(issuer: string): Verifier | undefined {
    const isTenant = ({ tenants }: Verifier) => tenants !== null && tenantIn(issuer, tenants) !== null;
    return this.#byIssuer.get(issuer) ?? this.#verifiers.find(isTenant);
  }

  remembered(token: string): Caller | null {
    for (const verifier of this.#verifiers) {
      const known = verifier.remembered(token);
      if (known !== null) return known;
    }
    return null;
  }

  refuse(refusal: Invalid, caller?: Caller): Invalid {
    const verifier = this.#byIssuer.get(caller?.issuer);
    if (verifier !== undefined) return verifier.refuse(refusal);
    this.#listener.tokenRefused(refusal.reason, refusal.claim);
    return refusal;
  }

  accepts(caller: Caller): boolean {
    return this.#byIssuer.get(caller.issuer)?.accepts(caller) === true;
  }

  /** A caller of an issuer that is no longer configured keeps its streams: a reload does not end what is in progress. */
  endOf(caller: Caller): RevocationReason | null {
    return this.#byIssuer.get(caller.issuer)?.endOf(caller) ?? null;
  }
}
