import type { Trade } from '../requests.ts';
import type { Oracle } from './oracle.ts';

/** The provider gets a code, a refresh token and the end of one at most as often as a client has sent it. */
export const codesOnce: Oracle = world => {
  const { codes, refreshTokens } = world;
  const trades: readonly Trade[] = [...codes, ...refreshTokens, ...refreshTokens.map(({ end }) => end)];
  for (const { text, sent, arrivals } of trades)
    if (arrivals > sent)
      world.wrong('codes', `${text} was sent ${sent} times, and the provider got it ${arrivals} times`);
};
