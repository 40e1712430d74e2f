import { systemClock } from '../../src/core/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

/** Has a timer of a second wait for an hour: a machine that stands still for a second must not fail a test. */
export const patientMs = (ms: number) => (ms === SECOND_MS ? HOUR_MS : ms);

/** The clock of this machine, but for timers of a second. */
export class PatientClock extends FrozenClock {
  override readonly epochMs = systemClock.epochMs;
  override readonly monotonicMs = systemClock.monotonicMs;
  override readonly after = (ms: number, run: () => void) => systemClock.after(patientMs(ms), run);
}
