import { calculateJwkThumbprint, EmbeddedJWK, jwtVerify } from 'jose';
import { ownMemory, thisMachine } from '../../../src/core/index.ts';
import { Nonces, ProofKeys, Proofs, SeenProofs } from '../../../src/identity/auth/index.ts';
import { PROOF_ALGORITHMS } from '../../../src/identity/auth/proofs/proof.ts';
import { type ClientKey, clientKey, hashOfToken, proofOf } from '../proofs.ts';
import type { Random } from '../random.ts';
import { base64Url, signParts } from '../token-issuer.ts';
import { type FuzzRun, fuzz } from './fuzz-run.ts';
import { mutate } from './mutate.ts';

const HOST = 'api.example.com';
const URL_OF_REQUEST = `https://${HOST}/orders/7`;
const HASH = hashOfToken('token');
const LEEWAY_S = 30;
/** Time stands still, so that both checks have the same. */
const NOW_S = 1_795_262_400;
const CLOCK = { epochMs: () => NOW_S * 1_000, monotonicMs: () => 1_000 };

export interface ProofFuzzResult {
  readonly cases: number;
  /** Proofs that both take, and proofs that both refuse. */
  readonly taken: number;
  readonly refused: number;
  /** Proofs that ours alone refuses: it takes one spelling of base64, of keys and of URLs. */
  readonly stricter: number;
  readonly findings: readonly string[];
}

/**
 * Gives proofs, most of them wounded before or after they were signed, to our check and to one that is made with jose and `URL`. Ours
 * takes none that the other refuses, none twice, and never throws.
 */
export async function fuzzProofs(run: FuzzRun): Promise<ProofFuzzResult> {
  const clients = (['ES256', 'EdDSA', 'RS256', 'PS256'] as const).map(alg => clientKey(alg));
  const memory = ownMemory(thisMachine.randomBytes);
  const proofs = new Proofs(
    { required: true, leewayMs: LEEWAY_S * 1_000, nonceMs: null },
    {
      seen: new SeenProofs(10_000, CLOCK, memory),
      keys: new ProofKeys(),
      nonces: new Nonces(Buffer.alloc(32), CLOCK),
      ...{ claimElsewhere: null, budget: null, clock: CLOCK },
      listener: { proofAccepted() {}, budgetSpent() {} },
    },
  );
  let [taken, refused, stricter] = [0, 0, 0];
  const compare = async (random: Random, note: (what: string) => void) => {
    const client = random.pick(clients);
    const proof = madeUp(client, random);
    const request = { method: 'GET', scheme: 'https', host: HOST, path: '/orders/7' } as const;
    const claim = {
      ...request,
      ...{ key: client.thumbprint, tokenHash: () => HASH, underDpop: true },
      ...{ proof, address: '192.0.2.1', isKnown: true },
    };
    const verdict = proofs.check(claim);
    const isTaken = !(verdict instanceof Promise) && verdict.kind === 'proved';
    const isRight = await isRightFor(client, proof);
    if (isTaken && !isRight) note(`ours alone takes ${proof}`);
    if (isTaken && proofs.check(claim) instanceof Promise) note('a second check waits');
    const again = proofs.check(claim);
    if (isTaken && !('reason' in again)) note(`taken twice: ${proof}`);
    if (isTaken && isRight) taken++;
    else if (isRight) stricter++;
    else refused++;
  };
  return { ...(await fuzz(run, compare)), taken, refused, stricter };
}

const ODD: readonly unknown[] = [null, 0, -1, 1e300, '', 'x', [], {}, ['GET'], true, 'a'.repeat(300)];
const URLS = [
  ...[
    `${URL_OF_REQUEST}?a=1`,
    `${URL_OF_REQUEST}#a`,
    URL_OF_REQUEST.toUpperCase(),
    `http://${HOST}/orders/7`,
  ],
  ...[`https://${HOST}:443/orders/7`, `https://${HOST}:8443/orders/7`, `https://${HOST}/orders/../orders/7`],
  ...[
    `https://${HOST}/%6frders/7`,
    `https://evil@${HOST}/orders/7`,
    `https://${HOST}.evil/orders/7`,
    '/orders/7',
  ],
];

/** A proof by this client that is right in most of its parts. */
function madeUp(client: ClientKey, random: Random): string {
  const claims: Record<string, unknown> = { htu: URL_OF_REQUEST, ath: HASH, iat: NOW_S };
  const header: Record<string, unknown> = {};
  if (random.chance(0.2)) claims['htu'] = random.pick(URLS);
  if (random.chance(0.1))
    claims[random.pick(['htm', 'htu', 'ath', 'iat', 'jti', 'nonce'])] = random.pick(ODD);
  if (random.chance(0.1)) claims['iat'] = NOW_S + random.below(100) - 50;
  if (random.chance(0.1)) header[random.pick(['alg', 'typ', 'jwk', 'crit', 'kid', 'b64'])] = random.pick(ODD);
  if (random.chance(0.05)) header['alg'] = random.pick(['none', 'HS256', 'ES256', 'RS256', 'EdDSA', 'ES512']);
  if (random.chance(0.05))
    header['jwk'] = { ...client.jwk, [random.pick(['d', 'k', 'x', 'y', 'n', 'e'])]: 'AQAB' };
  const proof = proofOf(client, claims, header);
  const parts = proof.split('.').map(part => Buffer.from(part, 'base64url'));
  const [head = Buffer.alloc(0), body = Buffer.alloc(0)] = parts;
  // Wounds that are signed reach further than those of what is signed already.
  if (random.chance(0.2))
    return random.chance(0.5)
      ? signParts(client.key, mutate(head, random), body)
      : signParts(client.key, head, mutate(body, random));
  if (random.chance(0.2)) return mutate(Buffer.from(proof), random).toString('latin1');
  if (random.chance(0.1)) {
    const at = random.below(3);
    return parts.map((part, i) => base64Url(i === at ? mutate(part, random) : part)).join('.');
  }
  return proof;
}

/** The same question, answered with jose and `URL`. */
async function isRightFor({ thumbprint }: ClientKey, proof: string): Promise<boolean> {
  try {
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      typ: 'dpop+jwt',
      algorithms: [...PROOF_ALGORITHMS],
      currentDate: new Date(NOW_S * 1_000),
    });
    const { jwk } = protectedHeader;
    if (jwk === undefined || (await calculateJwkThumbprint(jwk)) !== thumbprint) return false;
    if (payload['htm'] !== 'GET' || payload['ath'] !== HASH) return false;
    if (typeof payload.jti !== 'string' || payload.jti === '' || typeof payload.iat !== 'number')
      return false;
    if (Math.abs(NOW_S - payload.iat) > LEEWAY_S) return false;
    const url = new URL(String(payload['htu']));
    const [search, hash] = ['', ''];
    // Letters may be escaped (RFC 3986, 6.2.2.2), which `URL` leaves as they are.
    return decodeURI(Object.assign(url, { search, hash }).href) === URL_OF_REQUEST;
  } catch {
    return false;
  }
}
