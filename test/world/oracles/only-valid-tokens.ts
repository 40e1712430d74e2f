import type { Asked, Revocation } from '../requests.ts';
import type { World } from '../world.ts';
import type { Oracle } from './oracle.ts';

/** How long a gateway may take until a revocation holds, or is on its disk. */
const PROMISE_MS = 1_000;

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
function holds(world: World, { gateway, life, notBefore, confirmedMs }: Revocation, asked: Asked): boolean {
  const { token, readMs } = asked;
  if (token === null || readMs === null || confirmedMs === null || asked.gateway !== gateway) return false;
  const knownMs = confirmedMs + PROMISE_MS;
  if (token.issuedAt >= notBefore || readMs < knownMs) return false;
  if (asked.life === life) return true;
  const endedMs = gateway.lives[life - 1]?.untilMs ?? Number.POSITIVE_INFINITY;
  return world.keepsState && asked.life > life && endedMs > knownMs;
}

/** Whether no gateway has a reason to refuse the token: its key is the first, no clock is wrong, and nobody has revoked anything. */
function isGood(world: World, { token, gateway, endedMs }: Asked): boolean {
  if (token?.isValid !== true || token.key > 1 || gateway.host.wallOffsetsMs.length > 1) return false;
  return !world.revocations.some(
    each =>
      (each.gateway === gateway || world.sharing !== null) &&
      each.notBefore > token.issuedAt &&
      each.toldMs <= (endedMs ?? 0),
  );
}
