import type { Row } from '../explain/index.ts';

/** Formats rows as two columns. Shows a repeated label once. */
export function formatRows(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(([label]) => label.length));
  let before = '';
  const lines = rows.map(([label, text]) => {
    const shown = label === before ? '' : label;
    before = label;
    return `  ${shown.padEnd(width)}  ${text}\n`;
  });
  return lines.join('');
}
