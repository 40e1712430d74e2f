import type { Figure } from '../measure/figures.ts';

export interface Result {
  readonly id: string;
  /** When it was measured. */
  readonly date: string;
  readonly title: string;
  /** What it means to a user, one or two sentences. */
  readonly meaning: string;
  /** What was sent, by what, how often. */
  readonly how: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly aims: readonly Aim[];
  /** What is missing, and why; what to keep in mind. */
  readonly notes: readonly string[];
  /** Processes that wanted a processor, before each round (the machine's load average of one minute). */
  readonly loadAverages: readonly number[];
}

export interface Column {
  readonly id: string;
  /** With its unit. */
  readonly label: string;
  readonly digits: number;
}

export interface Row {
  readonly name: string;
  /** What the entrant leaves out, as prose. */
  readonly note?: string | null;
  /** By column; a missing one was not measured. */
  readonly figures: Readonly<Record<string, Figure>>;
}

/** A figure with an upper bound, or one that is only reported. */
export interface Aim {
  readonly what: string;
  /** Null: no bound. */
  readonly max: number | null;
  /** Null: not measured in this run. */
  readonly figure: Figure | null;
}

/** Everything of one run. */
export interface Report {
  readonly date: string;
  readonly mode: 'full' | 'quick';
  readonly rounds: number;
  /** Of one measurement. */
  readonly seconds: number;
  readonly machine: Machine;
  /** By name; null: not installed. */
  readonly versions: Readonly<Record<string, string | null>>;
  readonly results: readonly Result[];
}

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly system: string;
  /** Of one minute, before the first scenario. */
  readonly loadAverage: number;
}

export const CPU: Column = { id: 'cpu', label: 'CPU µs/request', digits: 1 };
export const COLD: Column = { id: 'cold', label: 'in the first second', digits: 1 };
export const RATE: Column = { id: 'rate', label: 'requests/s', digits: 0 };
export const MEMORY: Column = { id: 'memory', label: 'peak MiB', digits: 0 };

/** Whether the bound is kept; null without a bound, or if the figure was not measured. */
export function isMet({ max, figure }: Aim): boolean | null {
  return max === null || figure === null ? null : figure.median <= max;
}
