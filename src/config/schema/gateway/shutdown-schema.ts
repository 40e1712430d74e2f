import { z } from 'zod';

import { duration } from '../scalars/index.ts';

/** `shutdown` of gateway.yaml. */
export const shutdownSchema = z
  .strictObject({
    delay: duration({ min: '0ms' })
      .prefault('0s')
      .describe(
        'After SIGTERM the gateway reports that it is not ready, but keeps serving for this long before it stops listening. Meanwhile clients are asked to connect anew.',
      ),
    drain: duration({ min: '0ms' })
      .prefault('25s')
      .describe('For requests in flight to finish after that; then they are cut off.'),
  })
  .prefault({})
  .describe('How the gateway stops.');
