import {
  IssuerVerifiers,
  NOTICE_BUDGET,
  REVOCATION_LIMITS,
  Revocations,
  SeenNotices,
  VerificationBudget,
} from '../auth/index.ts';
import type { IdentityModel } from '../config/index.ts';
import type { Clock } from '../core/index.ts';
import { Identity, type RequestIdentity } from '../runtime/index.ts';
import { SILENT } from './silent-listener.ts';
import { TestIssuer } from './test-issuer.ts';

/** The issuers of a configuration, with keys of their own, and what a gateway needs to know their tokens. */
export interface TestIdentity {
  readonly identity: RequestIdentity;
  /** In the order of the file; at least one. */
  readonly issuers: readonly TestIssuer[];
}

export async function testIdentity(model: IdentityModel, clock: Clock): Promise<TestIdentity> {
  const revocations = new Revocations(REVOCATION_LIMITS, clock, () => {});
  const issuers = await Promise.all(
    model.providers.map(provider => TestIssuer.of(provider, revocations, clock)),
  );
  const notices = {
    ...{ clock, listener: SILENT, budget: new VerificationBudget(NOTICE_BUDGET, clock) },
    seen: new SeenNotices({ clock, claim: () => Promise.resolve(true) }),
  };
  const shared = { clock, random: () => 0, revocations, notices };
  const live = new Identity(model, { ...shared, listenerOf: () => SILENT });
  const verifiers = issuers.map(({ verifier }) => verifier);
  const [only, ...others] = verifiers;
  return {
    issuers,
    identity: {
      verifier: only !== undefined && others.length === 0 ? only : new IssuerVerifiers(verifiers, SILENT),
      signIn: live.signIn,
      notices: live.notices,
      endSession: caller => live.endSession(caller),
      introspect: () => 'active',
    },
  };
}
