import type { Asked, Revocation } from '../requests.ts';
import type { World } from '../world.ts';
import type { Oracle } from './oracle.ts';
import { mustKnow } from './spread.ts';

/** How soon all threads of a gateway refuse what one was told of. */
const THREADS_MS = 100;

/** No service gets a token that does not count, and no token that counts is refused. */
export const onlyValidTokens: Oracle = world => {
  for (const asked of world.requests.all) {
    const { id, token, status, arrivals } = asked;
    if (token === null) continue;
    const hasPassed = arrivals.some(({ hasToken }) => hasToken);
    const revocation = world.revocations.find(each => holds(world, each, asked));
    if (hasPassed && asked.path !== '/v1/open') {
      if (!token.isValid) world.wrong('valid tokens', `${id} passed with a token that is not valid`);
      if (revocation !== undefined)
        world.wrong(
          'revoked tokens',
          `${id} passed with a token that was revoked ${sinceOf(revocation, asked)}`,
        );
    }
    if (status === 401 && isGood(world, asked))
      world.wrong('valid tokens', `${id} was refused, and its token is valid`);
  }
};

function sinceOf({ confirmedMs }: Revocation, { readMs }: Asked): string {
  return `${((readMs ?? 0) - (confirmedMs ?? 0)).toFixed()} ms before`;
}

/** Whether the gateway must have known of this revocation when it read the request. */
function holds(world: World, { gateway, life, refuses, confirmedMs }: Revocation, asked: Asked): boolean {
  const { token, readMs } = asked;
  if (token === null || readMs === null || confirmedMs === null || !refuses(token)) return false;
  const fact = { gateway, life, fromMs: confirmedMs + THREADS_MS, isShort: false };
  return fact.fromMs <= readMs && mustKnow(world, fact, asked.gateway, readMs);
}

/** Whether no gateway has a reason to refuse the token: its key is the first, no clock is wrong, and nobody has revoked anything. */
function isGood(world: World, { token, gateway, endedMs }: Asked): boolean {
  if (token?.isValid !== true || token.key > 1 || gateway.host.wallOffsetsMs.length > 1) return false;
  return !world.revocations.some(
    each =>
      (each.gateway === gateway || world.sharing !== null) &&
      each.refuses(token) &&
      each.toldMs <= (endedMs ?? 0),
  );
}
