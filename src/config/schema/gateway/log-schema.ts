import { z } from 'zod';

import { choice, pathOfFile, yesOrNo } from '../plain-values.ts';

/** `log` of gateway.yaml. */
export const logSchema = z
  .strictObject({
    level: choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
      .prefault('info')
      .describe('The least severe lines that are written.'),
    access: yesOrNo().prefault(true).describe('One line for each request.'),
    pseudonym_key_file: pathOfFile()
      .optional()
      .describe(
        'A file with the key of the names by which callers go in the log: at least 32 characters. Relative to this file. Left out: a random key for each process, so that names do not outlive it.',
      ),
  })
  .prefault({})
  .describe('What is written to standard output, as one JSON object a line.');
