import { z } from 'zod';

import { choice, pathOfFile, yesOrNo } from '../plain-values.ts';

/** `log` of gateway.yaml. */
export const logSchema = z
  .strictObject({
    level: choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
      .prefault('info')
      .describe('The lowest level that is written.'),
    access: yesOrNo().prefault(true).describe('Whether to write one line per request.'),
    fields: z
      .array(z.literal('user_agent', { error: 'expected user_agent' }), {
        error: 'expected a list such as [user_agent]',
      })
      .prefault([])
      .describe('What access lines have beyond the usual: user_agent, what clients say that they are.'),
    pseudonym_key_file: pathOfFile()
      .optional()
      .describe(
        'A file with the key for the pseudonyms of callers in the log, at least 32 characters. Relative to this file. Left out: a random key per process, so that pseudonyms change at each start.',
      ),
  })
  .prefault({})
  .describe('The log on standard output, one JSON object per line.');
