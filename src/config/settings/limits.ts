import { text } from '../values/index.ts';
import { setting } from './setting.ts';

/** `limits`: the file with the rate limits; `null` for the defaults. */
export const limits = setting({
  keys: {
    limits: text('expected the word none, or the path of a file such as limits.yaml')
      .transform(path => (path === 'none' ? null : path))
      .prefault('none')
      .describe(
        'The file with the rate limits, limits.yaml, or a folder whose *.yaml files are read as one; relative to this file. none: the defaults.',
      ),
  },
});
