// Compares the processor time of verifying an access token with the gateway's own code and with jose: tokens seen for the
// first time, and one token repeatedly.
// node scripts/verify-cost.ts [ROUNDS] [TOKENS]
import { createLocalJWKSet, jwtVerify } from 'jose';
import { type AuthListener, ownMemory, systemClock, thisMachine } from '../src/core/index.ts';
import { KeySet, OwnerChecks, REVOCATION_LIMITS, Revocations, Verifier } from '../src/identity/auth/index.ts';
import { CACHE_OPTIONS, KEY_SET_OPTIONS } from '../test/support/identity-options.ts';
import { type IssuerKey, issuerKey, keySetJson, signToken } from '../test/support/token-issuer.ts';
import { printCosts } from './costs-in-turns.ts';

/** Checks a token; throws when it is not accepted. */
type Check = (token: string) => Promise<void>;

const ISSUER = 'https://id.example.com/realms/main';
const AUDIENCE = 'api';
const ROUNDS = Number(process.argv[2] ?? 9);
const TOKENS = Number(process.argv[3] ?? 2_000);
/** jose verifies in the thread pool, so this many at a time, as in a busy gateway. */
const AT_A_TIME = 64;

const SILENT: AuthListener = {
  tokenKnown() {},
  signatureChecked() {},
  tokenRefused() {},
  tokenUndecided() {},
  proofAccepted() {},
  budgetSpent() {},
  keySetLoaded() {},
  keySetFailed() {},
  revocationEvicted() {},
};

for (const algorithm of ['RS256', 'ES256', 'EdDSA'] as const) {
  const key = issuerKey(algorithm, 'key');
  const different = Array.from({ length: TOKENS }, (_, i) => tokenOf(key, `user-${i}`));
  const same = Array<string>(TOKENS).fill(tokenOf(key, 'ada'));
  await printCosts(ROUNDS, TOKENS, {
    [`${algorithm}  Weir, first time`]: async () => checkAll(await weirCheck(key), different),
    [`${algorithm}  Weir, known`]: async () => checkAll(await weirCheck(key), same),
    [`${algorithm}  jose, first time`]: () => checkAll(joseCheck(key), different),
    [`${algorithm}  jose, again`]: () => checkAll(joseCheck(key), same),
  });
}

function tokenOf(key: IssuerKey, subject: string): string {
  const iat = Math.floor(Date.now() / 1_000);
  const claims = {
    iss: ISSUER,
    aud: AUDIENCE,
    azp: 'web',
    sub: subject,
    typ: 'Bearer',
    iat,
    exp: iat + 3_600,
  };
  return signToken(key, claims);
}

/** The gateway's verifier with this key and an empty cache. */
async function weirCheck(key: IssuerKey): Promise<Check> {
  const shared = { clock: systemClock, listener: SILENT };
  const keys = new KeySet(KEY_SET_OPTIONS, {
    ...shared,
    fetch: async () => keySetJson([key]),
    random: Math.random,
  });
  await keys.refresh();
  const revocations = new Revocations(REVOCATION_LIMITS, systemClock, () => {}).of(ISSUER);
  const rules = {
    issuer: ISSUER,
    isOneOfSeveral: false,
    tenants: null,
    audience: [AUDIENCE],
    audienceClaim: 'aud',
    tokenKind: 'access' as const,
    clientId: 'gateway',
    principal: ['azp', 'sub'],
    bots: null,
    identityHeaders: [],
    classes: [],
    keptClaims: [],
    requirements: [],
    roleClaims: [],
    dpop: 'off' as const,
    leewayMs: 30_000,
    maxLifetimeMs: null,
  };
  const ownerChecks = new OwnerChecks(systemClock, ownMemory(thisMachine.randomBytes));
  const verifier = new Verifier(rules, CACHE_OPTIONS, {
    ...shared,
    keys,
    revocations,
    ownerChecks,
    budget: null,
  });
  return async token => {
    const verdict = verifier.verify(token, '192.0.2.1');
    if (verdict instanceof Promise || verdict.kind !== 'user') throw new Error('Weir refused a valid token');
  };
}

function joseCheck(key: IssuerKey): Check {
  const keySet = createLocalJWKSet({ keys: [key.jwk] });
  const rules = { issuer: ISSUER, audience: AUDIENCE, clockTolerance: 30, requiredClaims: ['exp', 'iat'] };
  return async token => {
    await jwtVerify(token, keySet, rules);
  };
}

function checkAll(check: Check, tokens: readonly string[]): () => Promise<void> {
  return async () => {
    for (let at = 0; at < tokens.length; at += AT_A_TIME)
      await Promise.all(tokens.slice(at, at + AT_A_TIME).map(check));
  };
}
