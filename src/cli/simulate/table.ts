import type { Report } from '../../simulation/index.ts';

/** The report as a table, and what has to be known about it below. */
export function formatReport(report: Report): string {
  const { from, to, requests, refused } = report;
  const head = `${count(requests)} requests from ${from} to ${to}: ${count(refused.before)} refused before, ${count(refused.after)} after.`;
  if (requests === 0) return `No line of the log tells of a decision.\n${notes(report)}`;
  return `${head}\n\n${table(report)}${callers(report)}${notes(report)}`;
}

const COLUMNS = ['BUCKET', 'CLASS', 'REQUESTS', 'BEFORE', 'AFTER', 'CALLERS', 'HIT', 'WORST MINUTE'];

function table({ buckets }: Report): string {
  const rows = buckets.map(row => [
    row.bucket ?? '(no bucket)',
    row.class,
    count(row.requests),
    count(row.refused.before),
    count(row.refused.after),
    count(row.callers.all),
    share(row.callers.hitAfter, row.callers.all),
    row.worstMinute === null ? '-' : `${row.worstMinute.at.slice(0, 16)}Z: ${count(row.worstMinute.refused)}`,
  ]);
  const all = [COLUMNS, ...rows];
  const widths = COLUMNS.map((_, at) => Math.max(...all.map(row => row[at]?.length ?? 0)));
  return all
    .map(
      row =>
        `${row
          .map((cell, at) => pad(cell, widths[at] ?? 0, at))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** Numbers to the right, words to the left. */
function pad(cell: string, width: number, column: number): string {
  return column >= 2 && column <= 6 ? cell.padStart(width) : cell.padEnd(width);
}

function callers({ buckets }: Report): string {
  const lines = buckets.flatMap(({ bucket, most }) =>
    most.map(
      ({ caller, after, requests, before }) =>
        `  ${caller}  ${bucket ?? '(no bucket)'}: ${count(after)} of ${count(requests)} (before: ${count(before)})\n`,
    ),
  );
  return lines.length === 0 ? '' : `\nRefused most:\n${lines.join('')}`;
}

function notes({ log, unanswered }: Report): string {
  const alone =
    log.store === 'memory' ? 'each counted alone (--store redis counts all together)' : 'counted together';
  const lines = [
    ...(log.gateways > 1 ? [`${count(log.gateways)} starts of gateways, ${alone}`] : []),
    ...(log.broken > 0 ? [`${count(log.broken)} of ${count(log.lines)} lines were broken and left out`] : []),
    ...(log.ambiguous > 0 ? [`${count(log.ambiguous)} requests have a main value that is not UTF-8`] : []),
    ...(log.unnamed > 0 ? [`${count(log.unnamed)} requests are of callers beyond the first million`] : []),
    ...log.torn.map(torn => `read up to a tear: ${torn}`),
    ...unanswered.map(
      ({ path, word, requests }) =>
        `cannot be answered: "${path}" has the new word "${word}", which the log shows as a pseudonym; up to ${count(requests)} requests may be its`,
    ),
  ];
  return lines.length === 0 ? '' : `\n${lines.map(line => `${line}.\n`).join('')}`;
}

function count(number: number): string {
  return number.toLocaleString('en');
}

function share(part: number, all: number): string {
  return all === 0 ? '-' : `${((100 * part) / all).toFixed(part === 0 || part === all ? 0 : 1)} %`;
}
