import type { BodyTerms } from '../../wire/http1/index.ts';
import { compareMaxima } from '../difference.ts';
import { formatSize, rateOrOff, sizeOrNone } from '../values/index.ts';
import { routePolicy } from './policy.ts';
import { compareMinima } from './reading.ts';

/** The default minimum rate of request bodies, in bytes per second. */
export const MIN_BODY_RATE = 240;
/** The default terms, one object for possibly ten thousand routes. */
const USUAL: BodyTerms = { maxBytes: null, minBytesPerS: MIN_BODY_RATE, deadlineMs: null };

export const body = routePolicy({
  keys: {
    max_body: sizeOrNone('none').describe(
      'Largest request body, chunk framing included; beyond it 413. none: no limit.',
    ),
    min_body_rate: rateOrOff('240B/s').describe(
      'Minimum average rate of a request body after its first 30 seconds; below it 408. Time in which the upstream reads nothing does not count. off: no minimum, for slow streams.',
    ),
  },
  pathOnly: ['min_body_rate'],
  forwardOnly: ['max_body', 'min_body_rate'],
  compile: ({ max_body, min_body_rate }): { readonly body: BodyTerms } => ({
    body:
      max_body === USUAL.maxBytes && min_body_rate === USUAL.minBytesPerS
        ? USUAL
        : { maxBytes: max_body, minBytesPerS: min_body_rate, deadlineMs: null },
  }),
  compileCall: ({ max_body }) => ({ body: { maxBytes: max_body, minBytesPerS: null, deadlineMs: null } }),
  describe: ({ body: { maxBytes, minBytesPerS } }) => {
    const size = maxBytes === null ? 'any size' : `at most ${formatSize(maxBytes)}, else 413`;
    const rate = minBytesPerS === null ? '' : `; at least ${formatSize(minBytesPerS)}/s on average, else 408`;
    return { body: `${size}${rate}` };
  },
  compare: ({ body: now }, { body: before }) => [
    compareMaxima('max_body', now.maxBytes, before.maxBytes, bytes =>
      bytes === null ? 'any' : formatSize(bytes),
    ),
    compareMinima('min_body_rate', now.minBytesPerS, before.minBytesPerS),
  ],
});
