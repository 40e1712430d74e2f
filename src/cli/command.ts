/** What a command may touch of the world outside. */
export interface CommandOutput {
  /** Variables of the environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes a text, line ends included, to standard output. */
  out(text: string): void;
  /** The same, to standard error. */
  err(text: string): void;
}

/** One word after `weir`. */
export interface Command {
  readonly name: string;
  /** For the list of commands: a few words. */
  readonly summary: string;
  /** What `--help` prints. */
  readonly help: string;
  /** Resolves to the exit code. Throws a UsageError for a command line that makes no sense. */
  run(args: readonly string[], terminal: CommandOutput): Promise<number>;
}

/** A command line that makes no sense; the message says what to write instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
