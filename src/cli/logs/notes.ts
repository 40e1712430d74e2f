import type { LogReport, Unanswered } from '../../simulation/index.ts';
import { count, countOf } from './columns.ts';

/** What has to be known about the logs that were read. */
export function logNotes(log: LogReport, unanswered: readonly Unanswered[]): string[] {
  const alone =
    log.store === 'memory' ? 'each counted alone (--store redis counts all together)' : 'counted together';
  return [
    ...(log.gateways > 1 ? [`${count(log.gateways)} starts of gateways, ${alone}`] : []),
    ...(log.early > 0
      ? [
          `${countOf(log.early, 'request was', 'requests were')} refused before the limits were asked (a restriction, or blocked), and left out`,
        ]
      : []),
    ...(log.broken > 0
      ? [`${count(log.broken)} of ${countOf(log.lines, 'line was', 'lines were')} broken and left out`]
      : []),
    ...(log.ambiguous > 0
      ? [`${countOf(log.ambiguous, 'request has', 'requests have')} a main value that is not UTF-8`]
      : []),
    ...log.torn.map(torn => `read up to a tear: ${torn}`),
    ...unanswered.map(
      ({ path, word, requests }) =>
        `cannot be answered: "${path}" has the new word "${word}", which the log shows as a pseudonym; up to ${countOf(requests, 'request', 'requests')} may be its`,
    ),
  ];
}

/** A paragraph of them, after an empty line. */
export function sentences(notes: readonly string[]): string {
  return notes.length === 0 ? '' : `\n${notes.map(note => `${note}.\n`).join('')}`;
}
