import type { Figure } from '../measure/figures.ts';
import type { Column } from './result.ts';

/** Formats a figure: `24.6 (23.9–26.0)`, or only the number if it was measured once. */
export function figureText({ median, lowest, highest }: Figure, digits: number): string {
  if (lowest === highest) return numberText(median, digits);
  return `${numberText(median, digits)} (${numberText(lowest, digits)}–${numberText(highest, digits)})`;
}

/** The cell of a column. */
export function cellText(figure: Figure | undefined, { digits }: Column): string {
  return figure === undefined ? '' : figureText(figure, digits);
}

function numberText(value: number, digits: number): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
