import { stat } from 'node:fs/promises';
import { type PartRead, readPart } from '../config/index.ts';
import { systemClock } from '../core/index.ts';
import { type LogReport, type ReadCounts, ReplayError } from '../offline/simulation/index.ts';
import { type CommandOutput, ExitCode } from './command.ts';
import { formatCount } from './log-report.ts';
import { reportErrors } from './output.ts';

type LoadedLimits = Extract<PartRead<'limits'>, { readonly ok: true }>;

interface LogsAsked {
  readonly command: string;
  readonly limitsFile: string;
  readonly logs: readonly string[];
}

export async function readLogs<Read>(
  { command, limitsFile, logs }: LogsAsked,
  terminal: CommandOutput,
  read: (limits: LoadedLimits['limits'], onProgress: (counts: ReadCounts) => void) => Promise<Read>,
  report: (found: Read, loaded: LoadedLimits) => Promise<number>,
): Promise<number> {
  const loaded = await readPart('limits', limitsFile, terminal.env);
  if (!loaded.ok) return reportErrors(terminal, loaded.diagnostics);
  const progress = progressOf(await sizeOf(logs));
  try {
    const found = await read(loaded.limits, counts => progress.show(counts));
    progress.clear();
    return await report(found, loaded);
  } catch (error) {
    progress.clear();
    return failed(command, error, terminal);
  }
}

async function sizeOf(logs: readonly string[]): Promise<number> {
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

/** Reports an error that the operator can correct, and returns the exit code. Rethrows any other error: it is a fault of Weir. */
function failed(command: string, error: unknown, terminal: CommandOutput): number {
  const isSystem = error instanceof Error && 'syscall' in error;
  if (!(error instanceof ReplayError) && !isSystem) throw error;
  const { code, path, message } = error as NodeJS.ErrnoException;
  const why = code === undefined ? undefined : REASONS[code];
  terminal.err(`weir ${command}: ${why === undefined ? message : `${path}: ${why}`}\n`);
  return ExitCode.failure;
}

/** Reports that no line of the logs has a decision of the limits, and returns the exit code. */
export function withoutDecisions(command: string, log: LogReport, terminal: CommandOutput): number {
  const { lines, broken, torn } = log;
  const what =
    lines === 0
      ? 'the log is empty'
      : broken === lines
        ? `${lines === 1 ? 'its only line is not' : `none of the ${formatCount(lines)} lines is`} from the access log of a gateway`
        : `${lines === 1 ? 'its only line holds no' : `none of the ${formatCount(lines)} lines holds a`} decision of the limits`;
  const tear = torn.length === 0 ? '' : ` (read only up to damaged data: ${torn.join('; ')})`;
  terminal.err(`weir ${command}: ${what}${tear}: name the log that a gateway wrote with log.access: true\n`);
  return ExitCode.failure;
}

/** Where limits are counted: in the memory of each gateway, or in Redis for all gateways together. */
export const STORES = ['memory', 'redis'] as const;

const EVERY_MS = 200;

/** Shows the progress of a replay on a terminal. Writes nothing if standard error is not a terminal. */
function progressOf(all: number) {
  const startedAtMs = systemClock.monotonicMs();
  let shownAtMs = 0;
  const say = (text: string) => process.stderr.write(`\r\x1b[K${text}`);
  return {
    show({ bytes, lines }: ReadCounts): void {
      const nowMs = systemClock.monotonicMs();
      if (!process.stderr.isTTY || nowMs - shownAtMs < EVERY_MS) return;
      shownAtMs = nowMs;
      const passedS = (nowMs - startedAtMs) / 1_000;
      const share = all === 0 ? 1 : Math.min(1, bytes / all);
      const leftS = share === 0 ? 0 : Math.ceil((passedS * (1 - share)) / share);
      const rate = Math.round(lines / passedS).toLocaleString('en');
      say(
        `${Math.round(share * 100)} %, ${lines.toLocaleString('en')} lines, ${rate} a second, ${leftS} s left`,
      );
    },
    clear(): void {
      if (shownAtMs > 0) say('');
    },
  };
}
