import { z } from 'zod';

import { unshown } from './secrecy.ts';

// Values without a grammar of their own: choices, numbers, text.

/** One of a few words. */
export function choice<const Words extends readonly [string, ...string[]]>(words: Words) {
  const list = words.map(word => `"${word}"`);
  return z.enum(words, { error: `expected ${list.slice(0, -1).join(', ')} or ${list.at(-1)}` });
}

/** A whole number from 1 to `max`. */
export function count(max: number) {
  const error = `expected a whole number from 1 to ${max}`;
  return z.int({ error }).min(1, { error }).max(max, { error });
}

export function yesOrNo() {
  return z.boolean({ error: 'expected true or false' });
}

/** Text that is not empty. */
export function text(error: string) {
  return z.string({ error }).min(1, { error });
}

/** The path of a file. Never shown in messages, since people put the secret itself in its place. */
export function pathOfFile() {
  return unshown(text('write the path of a file'));
}

/** A name chosen by the operator, as the key of a map. */
export function name() {
  return z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, {
    error:
      'is not a valid name: use 1 to 63 letters, digits, ".", "_" or "-", starting with a letter or digit',
  });
}

/** The error for anything but a map, with an example. */
export function mapSuchAs(example: string) {
  return {
    error: ({ code }: { readonly code?: string | undefined }) =>
      code === 'invalid_type' ? `expected a map such as ${example}` : undefined,
  };
}
