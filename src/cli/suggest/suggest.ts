import { writeFile } from 'node:fs/promises';
import {
  measureLogs,
  PERCENTILES,
  type Percentile,
  panelsOf,
  renderNeeds,
  suggestLimits,
} from '../../simulation/index.ts';
import { oneOf, readArguments } from '../arguments.ts';
import { type Command, type CommandOutput, ExitCode, UsageError } from '../command.ts';
import { readLogs, STORES, type Store, withoutDecisions } from '../logs/index.ts';
import { asJson } from '../output.ts';
import { formatSuggestion, suggestedFiles, writeFiles } from './format-suggestion.ts';

export const suggest: Command = {
  help: `Suggests numbers for a limits.yaml from access logs: it measures how many units each caller needed in its busiest period,
per main value if a bucket has one. Routes, buckets and periods come from that limits.yaml. Refused requests count, too.

weir suggest --limits FILE LOG... [OPTIONS]

  --limits FILE   the limits.yaml to find numbers for, or a folder of such files
  LOG             access logs, of one gateway or of several; compressed by gzip or not
  --percentile P  the share of callers that should never be refused: ${PERCENTILES.join(', ')} (99)
  --headroom H    added to what they need, in percent (20)
  --store STORE   memory: each gateway counts alone; redis: all count together (memory)
  --format FORMAT text, json, or yaml: the limits.yaml with the numbers suggested (text)
  --write FILE    also writes that limits.yaml; for a folder of limits, names the folder to write to
  --svg FILE      also draws which share of callers needs more than a number, for each limit
  --help          show this text

Exit code: 0 done, 1 the logs cannot be read, 64 wrong command line, 78 the limits have errors.
`,
  async run(args, terminal) {
    const asked = read(args);
    const { limitsFile, logs, store, format, write, svg } = asked;
    return readLogs(
      { command: 'suggest', limitsFile, logs },
      terminal,
      (limits, onProgress) => measureLogs({ limits, logs, store, onProgress }),
      async (measured, { limits, patterns }) => {
        const suggestion = suggestLimits(measured, limits, patterns, asked);
        if (suggestion.requests === 0) return withoutDecisions('suggest', suggestion.log, terminal);
        const files = await suggestedFiles(limitsFile, suggestion);
        if (svg !== undefined) await writeFile(svg, renderNeeds(panelsOf(measured, suggestion)));
        if (write !== undefined) await writeFiles(write, files);
        if (format === 'yaml') return printYaml(files, terminal);
        terminal.out(format === 'json' ? asJson(suggestion) : formatSuggestion(suggestion));
        return ExitCode.ok;
      },
    );
  },
};

function printYaml(files: readonly { readonly text: string }[], terminal: CommandOutput): number {
  const [only, more] = files;
  if (only === undefined || more !== undefined)
    throw new UsageError('--format yaml takes one file of limits: name a folder by --write for several');
  terminal.out(only.text);
  return ExitCode.ok;
}

interface Asked {
  readonly limitsFile: string;
  readonly logs: readonly string[];
  readonly store: Store;
  readonly percentile: Percentile;
  readonly headroomPercent: number;
  readonly format: 'text' | 'json' | 'yaml';
  readonly write: string | undefined;
  readonly svg: string | undefined;
}

function read(args: readonly string[]): Asked {
  const options = {
    limits: { type: 'string' },
    percentile: { type: 'string', default: '99' },
    headroom: { type: 'string', default: '20' },
    store: { type: 'string', default: 'memory' },
    format: { type: 'string', default: 'text' },
    write: { type: 'string' },
    svg: { type: 'string' },
  } as const;
  const { values, positionals: logs } = readArguments(args, options, ['LOG...']);
  const { limits: limitsFile, headroom, write, svg } = values;
  if (limitsFile === undefined)
    throw new UsageError('missing --limits: name the limits.yaml to find numbers for');
  const percentile = oneOf('--percentile', values.percentile.replace(/ ?%$/, ''), PERCENTILES);
  if (!/^\d{1,4} ?%?$/.test(headroom))
    throw new UsageError(`--headroom takes a whole number up to 9999, not "${headroom}"`);
  const store = oneOf('--store', values.store, STORES);
  const format = oneOf('--format', values.format, ['text', 'json', 'yaml']);
  const headroomPercent = Number.parseInt(headroom, 10);
  return { limitsFile, logs, percentile, headroomPercent, store, format, write, svg };
}
