import { stat } from 'node:fs/promises';
import { type LogReport, ReplayError } from '../../simulation/index.ts';
import { type CommandOutput, ExitCode } from '../command.ts';
import { formatCount } from './columns.ts';

/** The bytes of all files that exist. */
export async function sizeOf(logs: readonly string[]): Promise<number> {
  const sizes = await Promise.all(
    logs.map(log =>
      stat(log)
        .then(({ size }) => size)
        .catch(() => 0),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EISDIR: 'is a folder: name a file',
  EACCES: 'permission denied',
};

/** Says what the operator can mend, and returns the exit code; anything else is a fault of ours. */
export function failed(command: string, error: unknown, terminal: CommandOutput): number {
  const isSystem = error instanceof Error && 'syscall' in error;
  if (!(error instanceof ReplayError) && !isSystem) throw error;
  const { code, path, message } = error as NodeJS.ErrnoException;
  const why = code === undefined ? undefined : REASONS[code];
  terminal.err(`weir ${command}: ${why === undefined ? message : `${path}: ${why}`}\n`);
  return ExitCode.failure;
}

/** Says that there is nothing to go by, and returns the exit code. */
export function withoutDecisions(command: string, log: LogReport, terminal: CommandOutput): number {
  const { lines, broken, torn } = log;
  const what =
    lines === 0
      ? 'the log is empty'
      : broken === lines
        ? `${lines === 1 ? 'its one line is not' : `none of the ${formatCount(lines)} lines is`} of the access log of a gateway`
        : `${lines === 1 ? 'its one line tells of no' : `none of the ${formatCount(lines)} lines tells of a`} decision of the limits`;
  const tear = torn.length === 0 ? '' : ` (read up to a tear: ${torn.join('; ')})`;
  terminal.err(`weir ${command}: ${what}${tear}: name the log that a gateway wrote with log.access: true\n`);
  return ExitCode.failure;
}

/** Where limits are counted: by each gateway alone, or by all together. */
export const STORES = ['memory', 'redis'] as const;
export type Store = (typeof STORES)[number];
