import { z } from 'zod';

import { quotaOrOff } from './scalars.ts';

/** The shape of limits.yaml: what operations tunes under load. Each default is written as the operator would write it. */
export const limitsSchema = z.strictObject({
  failed_verifications: quotaOrOff()
    .prefault('1000/1m')
    .describe(
      'Tokens of one address that fail a signature check, or name an unknown key: a number per period, 1000/1m, or off. Past it the address gets 429 for all but a few unknown tokens until the period is over.',
    ),
});

/** limits.yaml with every default filled in. */
export type LimitsConfig = z.output<typeof limitsSchema>;
