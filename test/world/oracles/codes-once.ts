import type { Oracle } from './oracle.ts';

/** The provider gets a code at most as often as a client has sent it. */
export const codesOnce: Oracle = world => {
  for (const { text, sent, arrivals } of world.codes)
    if (arrivals > sent)
      world.wrong(
        'codes',
        `the code ${text} was sent ${sent} times, and the provider got it ${arrivals} times`,
      );
};
