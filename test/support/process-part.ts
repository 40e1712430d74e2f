import type { NewPermits, ProcessPart } from '../../src/core/index.ts';
import { MainPart, ownMemory, ownRates, thisMachine } from '../../src/core/index.ts';

/** The part of a process that shares nothing with others but what is in flight. */
export function partOf(permits: NewPermits): ProcessPart {
  const { clock, randomBytes } = thisMachine;
  return new MainPart({
    ...{ id: 'process', memory: ownMemory(randomBytes), permits, rates: ownRates, clock, late: () => {} },
  });
}
