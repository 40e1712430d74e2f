import { UsageError } from './load/options.ts';

/**
 * Runs a script of this project, whose exit code `run` returns. A wrong command line (`UsageError`, or what `parseArgs` throws) is one line
 * on standard error, and exit code 64.
 */
export async function runScript(name: string, run: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await run();
  } catch (error) {
    if (!isOfCommandLine(error)) throw error;
    // What parseArgs says behind its first sentence is about writing programs.
    const [what] = error.message.split('. ');
    process.stderr.write(`${name}: ${what}\nRun "npm run ${name} -- --help" for usage.\n`);
    process.exitCode = 64;
  }
}

/** Reads an option that is a number above 0. Throws a UsageError. */
export function positive(option: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (/^\d+(\.\d+)?$/.test(text) && Number(text) > 0) return Number(text);
  throw new UsageError(`${option} ${text} is not a number above 0`);
}

/** Reads an option that is a whole number above 0, such as a seed. Throws a UsageError. */
export function whole(option: string, text: string | undefined, otherwise: number): number {
  const number = positive(option, text, otherwise);
  if (Number.isSafeInteger(number)) return number;
  throw new UsageError(`${option} ${text} is not a whole number, or too large`);
}

function isOfCommandLine(error: unknown): error is Error {
  if (error instanceof UsageError) return true;
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}
