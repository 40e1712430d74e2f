import { cellText, figureText } from './numbers.ts';
import { type Aim, isMet, type Result } from './result.ts';

/** A result for a terminal. */
export function textOf({ title, how, columns, rows, aims, notes }: Result): string {
  const table = [
    ['', ...columns.map(column => column.label)],
    ...rows.map(({ name, figures }) => [
      name,
      ...columns.map(column => cellText(figures[column.id], column)),
    ]),
  ];
  const widths = (table[0] ?? []).map((_, at) => Math.max(...table.map(line => line[at]?.length ?? 0)));
  const lines = table.map(line =>
    line
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  '),
  );
  return [title, how, '', ...(rows.length === 0 ? [] : lines), ...aims.map(aimText), ...notes].join('\n');
}

/** `CPU, Weir to Envoy: 0.52 (0.50–0.55), aim at most 0.6: met`. */
export function aimText(aim: Aim): string {
  const figure = aim.figure === null ? 'not measured' : figureText(aim.figure, 2);
  const met = isMet(aim);
  const verdict = met === null ? '' : met ? ': met' : ': MISSED';
  return `${aim.what}: ${figure}${aim.max === null ? '' : `, aim at most ${aim.max}${verdict}`}`;
}
