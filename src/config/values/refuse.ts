import { z } from 'zod';

/** Returns the message of the error that `read` throws; `null` if it throws none. */
export function messageOf(kind: new (message: string) => Error, read: () => unknown): string | null {
  try {
    read();
    return null;
  } catch (error) {
    if (error instanceof kind) return error.message;
    throw error;
  }
}

/** Adds an issue whose message repeats the value. For a hidden value or a variable, only `expected` is shown. */
export function refuseQuoting(context: z.RefinementCtx, message: string, expected: string): void {
  context.addIssue({ code: 'custom', message, params: { expected } });
}

export function refuse(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}
