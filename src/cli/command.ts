/** A command's access to the outside world. */
export interface CommandOutput {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes text to standard output, without adding a line feed. */
  out(text: string): void;
  err(text: string): void;
}

export interface Command {
  readonly help: string;
  /** Resolves to the exit code. Throws a UsageError for a wrong command line. */
  run(args: readonly string[], terminal: CommandOutput): Promise<number>;
}

/** Thrown for a wrong command line. The message says what to write instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Exit codes of `weir`. Those above 2 follow sysexits.h and shells. */
export const ExitCode = {
  ok: 0,
  /** The command failed, or its result is negative. */
  failure: 1,
  usage: 64,
  /** Stopped before all requests had finished. */
  drainTimeout: 75,
  configuration: 78,
  /** Stopped immediately by a second SIGINT or SIGTERM. */
  interrupted: 130,
  terminated: 143,
} as const;
