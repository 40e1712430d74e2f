import { stat } from 'node:fs/promises';
import { ReplayError } from '../../simulation/index.ts';
import type { CommandOutput } from '../command.ts';
import { ExitCode } from '../exit-code.ts';

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

/** Says what the operator can mend, and returns the exit code; anything else is a fault of ours. */
export function failed(command: string, error: unknown, terminal: CommandOutput): number {
  const isSystem = error instanceof Error && 'syscall' in error;
  if (!(error instanceof ReplayError) && !isSystem) throw error;
  const { code, path, message } = error as NodeJS.ErrnoException;
  terminal.err(`weir ${command}: ${code === 'ENOENT' ? `${path}: no such file` : message}\n`);
  return ExitCode.failure;
}
