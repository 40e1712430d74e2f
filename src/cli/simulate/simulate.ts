import { writeFile } from 'node:fs/promises';
import { renderReplay, replayLogs, simulationReport } from '../../simulation/index.ts';
import { oneOf, readArguments } from '../arguments.ts';
import { type Command, ExitCode, UsageError } from '../command.ts';
import { readLogs, STORES, type Store, withoutDecisions } from '../logs/index.ts';
import { asJson } from '../output.ts';
import { formatReport } from './table.ts';

export const simulate: Command = {
  help: `Replays access logs under other limits, with the gateway's own code and the times in the logs, and shows who would have been
refused, by limits or restrictions. Sends nothing. Requests that failed for another reason (a wrong path, a cap) fail again.

weir simulate --limits FILE LOG... [OPTIONS]

  --limits FILE   the limits.yaml to try, or a folder of such files
  LOG             access logs, of one gateway or of several; compressed by gzip or not
  --store STORE   memory: each gateway counts alone; redis: all count together (memory)
  --top N         callers to show for each bucket (3)
  --format FORMAT text or json (text)
  --svg FILE      also draws requests and refusals over time
  --help          show this text

Exit code: 0 done, 1 the logs cannot be replayed, 64 wrong command line, 78 the limits have errors.
`,
  async run(args, terminal) {
    const { limitsFile, logs, store, top, format, svg } = read(args);
    return readLogs(
      { command: 'simulate', limitsFile, logs },
      terminal,
      (limits, onProgress) => replayLogs({ limits, logs, store, onProgress }),
      async (replayed, { patterns }) => {
        const report = simulationReport(replayed, patterns, { store, top });
        if (report.requests === 0) return withoutDecisions('simulate', report.log, terminal);
        if (svg !== undefined) await writeFile(svg, renderReplay(replayed.tally));
        terminal.out(format === 'json' ? asJson(report) : formatReport(report));
        return ExitCode.ok;
      },
    );
  },
};

interface Asked {
  readonly limitsFile: string;
  readonly logs: readonly string[];
  readonly store: Store;
  readonly top: number;
  readonly format: 'text' | 'json';
  readonly svg: string | undefined;
}

function read(args: readonly string[]): Asked {
  const options = {
    limits: { type: 'string' },
    store: { type: 'string', default: 'memory' },
    top: { type: 'string', default: '3' },
    format: { type: 'string', default: 'text' },
    svg: { type: 'string' },
  } as const;
  const { values, positionals: logs } = readArguments(args, options, ['LOG...']);
  const { limits: limitsFile, top, svg } = values;
  if (limitsFile === undefined) throw new UsageError('missing --limits: name the limits.yaml to try');
  const store = oneOf('--store', values.store, STORES);
  const format = oneOf('--format', values.format, ['text', 'json']);
  if (!/^\d{1,4}$/.test(top)) throw new UsageError(`--top takes a whole number up to 9999, not "${top}"`);
  return { limitsFile, logs, store, top: Number(top), format, svg };
}
