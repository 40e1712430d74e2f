import type { Draws } from './kernel/draws.ts';

/** Something that the seed has decided to happen. */
export interface PlannedStep {
  /** Counts from 1, in the order in which inhabitants plan. */
  readonly number: number;
  readonly atMs: number;
  readonly what: string;
  /** @param draws its own source of chance */
  readonly run: (draws: Draws) => void;
}

/**
 * All that happens of itself in a world, as a numbered list: requests and faults. It is complete before anything happens, and each step
 * draws from a source of its own, so that single ones can be left out without shifting others.
 */
export class Plan {
  readonly steps: PlannedStep[] = [];

  add(atMs: number, what: string, run: PlannedStep['run']): void {
    this.steps.push({ number: this.steps.length + 1, atMs, what, run });
  }
}
