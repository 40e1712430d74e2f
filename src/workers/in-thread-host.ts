import type { System } from '../core/index.ts';
import type { Logger } from '../observe/index.ts';
import { runDataPlane } from './data-plane.ts';
import type { PlaneHost } from './host.ts';
import { linkInThread } from './link.ts';

const wait = () => {
  throw new Error('planes of one thread must not wait for each other');
};

/** Runs all planes in this thread, by one clock. What they tell each other arrives at once. */
export function inThreadHost(system: System, log: Logger): PlaneHost {
  return {
    wait,
    start(seed) {
      const [link, inside] = linkInThread();
      runDataPlane(structuredClone(seed), { link: inside, system, log, wait, sendLog: () => {} });
      return { link, ended: new Promise(() => {}), end: () => link.close('it was ended') };
    },
  };
}
