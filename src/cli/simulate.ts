import { writeFile } from 'node:fs/promises';
import { formatDuration } from '../core/index.ts';
import { type Report, renderReplay, replayLogs, simulationReport } from '../offline/simulation/index.ts';
import { oneOf, readArguments } from './arguments.ts';
import { type Command, ExitCode, UsageError } from './command.ts';
import { countOf, formatCount, logNotes, type Note, percent, sentences, table } from './log-report.ts';
import { readLogs, STORES, withoutDecisions } from './logs.ts';
import { asJson } from './output.ts';

export const command: Command = {
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

function read(args: readonly string[]) {
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

function formatReport(report: Report): string {
  const { from, to, requests, refused } = report;
  const head = `${countOf(requests, 'request', 'requests')} from ${from} to ${to}: ${formatCount(refused.before)} refused before, ${formatCount(refused.after)} after.`;
  return `${head}\n\n${buckets(report)}${restrictions(report)}${callers(report)}${notes(report)}`;
}

const TITLES = ['BUCKET', 'CLASS', 'REQUESTS', 'BEFORE', 'AFTER', 'CALLERS', 'HIT', 'WORST MINUTE'];

function buckets(report: Report): string {
  const rows = report.buckets.map(row => [
    row.bucket ?? '(no bucket)',
    row.class,
    formatCount(row.requests),
    formatCount(row.refused.before),
    formatCount(row.refused.after),
    formatCount(row.callers.all),
    percent(row.callers.hitAfter, row.callers.all),
    row.worstMinute === null
      ? '-'
      : `${row.worstMinute.at.slice(0, 16)}Z: ${formatCount(row.worstMinute.refused)}`,
  ]);
  return table(TITLES, rows, at => at >= 2 && at <= 6);
}

const RESTRICTED = ['RESTRICTIONS', 'REQUESTS', 'ADDRESSES', 'CALLERS', 'WEBHOOKS'];

/** Returns how many requests restrictions refused, and how many senders sent them; '' if none. */
function restrictions({ restrictions: { before, after } }: Report): string {
  if (before.requests + after.requests === 0) return '';
  const row = (title: string, { requests, addresses, callers: names, webhooks }: typeof before) => [
    title,
    ...[requests, addresses, names, webhooks].map(formatCount),
  ];
  return `\n${table(RESTRICTED, [row('before', before), row('after', after)], at => at > 0)}`;
}

function callers(report: Report): string {
  const lines = report.buckets.flatMap(({ bucket, most }) =>
    most.map(
      ({ caller, after, requests, before }) =>
        `  ${visible(caller)}  ${bucket ?? '(no bucket)'}: ${formatCount(after)} of ${formatCount(requests)} (before: ${formatCount(before)})\n`,
    ),
  );
  return lines.length === 0 ? '' : `\nRefused most:\n${lines.join('')}`;
}

/** Replaces control characters. A gateway writes none into a name, so such a log may try to control the terminal. */
function visible(caller: string): string {
  return caller.replaceAll(/\p{C}/gu, '\ufffd');
}

function notes(report: Report): string {
  const { log, unanswered, patience, blocksCallers, enforcesShares, buckets, restrictions: found } = report;
  const { unnamed, restarts } = log;
  const blocked = buckets.reduce((sum, { refused }) => sum + refused.afterByBlocked, 0);
  return sentences([
    blocked > 0 &&
      `${formatCount(blocked)} of the requests refused after come from blocked addresses or callers`,
    blocksCallers &&
      'callers under "blocked" cannot be simulated, because the log has only their pseudonyms: those blocked when it was written stay blocked',
    enforcesShares &&
      '"enforce" picks other callers here than in a gateway, but the same share of them, because the log has only pseudonyms',
    patience !== null &&
      patience.requests > 0 &&
      `${formatCount(patience.requests)} of the requests refused after would first be held (patience ${formatDuration(patience.forMs)}), and many of them admitted then`,
    ...restrictionNotes(found),
    unnamed > 0 &&
      `${countOf(unnamed, 'request is', 'requests are')} from callers beyond the first million, who are not listed`,
    restarts > 0 &&
      `more than 32 gateways wrote these logs at the same time, which is too many to simulate: counters were lost ${formatCount(restarts)} times, so too few requests are refused; simulate the logs of at most 32 gateways, or all with --store redis`,
    ...logNotes(log, unanswered),
  ]);
}

function restrictionNotes({ unknown, sparesCallers }: Report['restrictions']): Note[] {
  const { callers, outcomes } = unknown;
  return [
    outcomes > 0 &&
      `${countOf(outcomes, 'request that was', 'requests that were')} refused before would be admitted: the response of the service is unknown, and does not count as invalid`,
    callers > 0 &&
      `cannot be answered: ${countOf(callers, 'request that was', 'requests that were')} restricted or blocked before would be let through, but their tokens were not checked then`,
    sparesCallers &&
      'callers under "never_restrict" cannot be simulated, because the log has only their pseudonyms: those spared when it was written stay spared',
  ];
}
