import type { LogReport, Unanswered } from '../offline/simulation/index.ts';

/**
 * Formats lines of aligned columns under their titles.
 *
 * @param isNumber whether a column is aligned to the right
 */
export function table(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  isNumber: (at: number) => boolean,
): string {
  const all = [titles, ...rows];
  const widths = titles.map((_, at) => Math.max(...all.map(row => row[at]?.length ?? 0)));
  const aligned = (cell: string, at: number) => cell[isNumber(at) ? 'padStart' : 'padEnd'](widths[at] ?? 0);
  const line = (row: readonly string[]) => row.map(aligned).join('  ').trimEnd();
  return all.map(row => `${line(row)}\n`).join('');
}

export function formatCount(number: number): string {
  return number.toLocaleString('en');
}

/** `1 request was`, `2 requests were`. */
export function countOf(number: number, one: string, several: string): string {
  return `${formatCount(number)} ${number === 1 ? one : several}`;
}

export function percent(part: number, all: number): string {
  return all === 0 ? '-' : `${((100 * part) / all).toFixed(part === 0 || part === all ? 0 : 1)} %`;
}

/** A sentence for the reader of a report; `false` if it does not apply. */
export type Note = string | false;

export function logNotes(log: LogReport, unanswered: readonly Unanswered[]): Note[] {
  const alone =
    log.store === 'memory' ? 'each counted alone (--store redis counts all together)' : 'counted together';
  return [
    log.gateways > 1 && `${formatCount(log.gateways)} starts of gateways, ${alone}`,
    log.early > 0 &&
      `${countOf(log.early, 'request was', 'requests were')} refused before the limits were checked (a restriction, or blocked), and left out`,
    log.broken > 0 &&
      `${formatCount(log.broken)} of ${countOf(log.lines, 'line was', 'lines were')} broken and left out`,
    log.ambiguous > 0 &&
      `${countOf(log.ambiguous, 'request has', 'requests have')} a main value that is not UTF-8`,
    log.unseen.length > 0 &&
      `no request in the log has the ${log.unseen.join(', the ')}: a log has the classes and claims of the configuration that wrote it`,
    ...log.torn.map(torn => `read only up to damaged data: ${torn}`),
    ...unanswered.map(
      ({ path, word, requests }) =>
        `cannot be answered: "${path}" ${path.startsWith(`${word}/`) ? `has the new host "${word}", which the log does not name` : `has the new word "${word}", which the log shows as a pseudonym`}; up to ${countOf(requests, 'request', 'requests')} may be its`,
    ),
  ];
}

/** Notes as sentences, one per line, after an empty line. */
export function sentences(notes: readonly Note[]): string {
  const said = notes.filter(note => note !== false);
  return said.length === 0 ? '' : `\n${said.map(note => `${note}.\n`).join('')}`;
}
