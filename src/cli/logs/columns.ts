export interface Column {
  readonly title: string;
  /** Numbers to the right, words to the left. */
  readonly isNumber: boolean;
}

/** Lines of aligned columns under their titles. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const all = [columns.map(({ title }) => title), ...rows];
  const widths = columns.map((_, at) => Math.max(...all.map(row => row[at]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) =>
        columns[at]?.isNumber === true ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return all.map(row => `${line(row)}\n`).join('');
}

export function count(number: number): string {
  return number.toLocaleString('en');
}

/** `1 request was`, `2 requests were`. */
export function countOf(number: number, one: string, several: string): string {
  return `${count(number)} ${number === 1 ? one : several}`;
}

export function share(part: number, all: number): string {
  return all === 0 ? '-' : `${((100 * part) / all).toFixed(part === 0 || part === all ? 0 : 1)} %`;
}
