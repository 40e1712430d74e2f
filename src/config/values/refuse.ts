import { z } from 'zod';
import { PatternError } from '../routing/index.ts';

/** Returns the message of the error that `read` throws; `null` if it does not throw. */
export function messageOf(kind: new (message: string) => Error, read: () => unknown): string | null {
  try {
    read();
    return null;
  } catch (error) {
    if (error instanceof kind) return error.message;
    throw error;
  }
}

/**
 * Text with a given grammar, parsed.
 *
 * @param error the message for any other text
 * @param read may reject text of this form
 */
export function textOfForm<Value>(
  error: string | ((issue: { readonly input?: unknown }) => string),
  form: RegExp,
  read: (text: string, context: z.RefinementCtx) => Value,
) {
  return z.string({ error }).regex(form, { error, abort: true }).transform(read);
}

/** Text that a parser judges, with a pattern for editors. `expected`: the end of the message, after "expected". */
export function parsedText(expected: string, pattern: string, parse: (text: string) => unknown) {
  return z
    .string({ error: `expected ${expected}` })
    .meta({ pattern })
    .superRefine((text, context) => {
      const message = messageOf(PatternError, () => parse(text));
      if (message !== null) refuseQuoting(context, message, expected);
    });
}

/** Adds an issue whose message repeats the value. For a hidden value or a variable, only `expected` is shown. */
export function refuseQuoting(context: z.RefinementCtx, message: string, expected: string): void {
  context.addIssue({ code: 'custom', message, params: { expected } });
}

export function refuse(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}
