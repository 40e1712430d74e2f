import { OWN_WORDS } from '../inhabitants/grpc-service.ts';
import type { Asked, Revocation } from '../requests.ts';
import type { World } from '../world.ts';
import type { Oracle } from './oracle.ts';
import { mustKnow } from './spread.ts';

/** How soon all threads of a gateway refuse what one was told of. */
const THREADS_MS = 100;
/** How soon a WebSocket ends whose token is refused: gateways look at each twice a second, and the promise is one second. */
const CUT_MS = 2_500;

/** No service gets a token that does not count, or a request without one that it needs; no token that counts is refused, and no WebSocket outlives its token. */
export const onlyValidTokens: Oracle = world => {
  for (const asked of world.requests.all) {
    const { id, path, token, status, arrivals, readMs, heardMs } = asked;
    const needsToken = path === '/v1/other' || path.startsWith(`/${OWN_WORDS}/`);
    if (needsToken && arrivals.some(({ hasToken }) => !hasToken))
      world.wrong('valid tokens', `${id} passed without the token that ${path} needs`);
    if (token === null) continue;
    const hasPassed = arrivals.some(({ hasToken }) => hasToken);
    const revocation = world.revocations.find(each => holds(world, each, asked, readMs));
    // One that began less than that ago is judged as a request.
    const lateMs = (heardMs ?? 0) - CUT_MS;
    const lasts = hasPassed && readMs !== null && readMs <= lateMs;
    const cut = world.revocations.find(each => lasts && holds(world, each, asked, lateMs));
    if (cut !== undefined)
      world.wrong(
        'revoked tokens',
        `the WebSocket ${id} goes on ${sinceOf(cut, heardMs)} after its token was revoked`,
      );
    if (hasPassed && path !== '/v1/open') {
      if (!token.isValid) world.wrong('valid tokens', `${id} passed with a token that is not valid`);
      if (revocation !== undefined)
        world.wrong(
          'revoked tokens',
          `${id} passed with a token that was revoked ${sinceOf(revocation, readMs)} before`,
        );
    }
    if (status === 401 && isGood(world, asked))
      world.wrong('valid tokens', `${id} was refused, and its token is valid`);
  }
};

function sinceOf({ confirmedMs }: Revocation, atMs: number | null): string {
  return `${((atMs ?? 0) - (confirmedMs ?? 0)).toFixed()} ms`;
}

/** Whether the gateway of this request must have known of this revocation at this moment. */
function holds(
  world: World,
  { gateway, life, refuses, confirmedMs }: Revocation,
  asked: Asked,
  atMs: number | null,
): boolean {
  const { token } = asked;
  if (token === null || atMs === null || confirmedMs === null || !refuses(token)) return false;
  const fact = { gateway, life, fromMs: confirmedMs + THREADS_MS, isShort: false };
  return fact.fromMs <= atMs && mustKnow(world, fact, asked.gateway, atMs);
}

/** Whether no gateway has a reason to refuse the token: its key is the first, no clock is wrong, and nobody has revoked anything. */
function isGood(world: World, { token, gateway, endedMs }: Asked): boolean {
  if (token?.isValid !== true || token.key > 1 || gateway.host.wallOffsetsMs.length > 1) return false;
  return !world.revocations.some(
    each =>
      (each.gateway === gateway || world.sharing !== null) &&
      each.refuses(token) &&
      each.announcedWaitMs <= (endedMs ?? 0),
  );
}
