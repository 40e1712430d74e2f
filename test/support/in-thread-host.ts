import type { System } from '../../src/core/index.ts';
import type { Logger } from '../../src/observe/index.ts';
import { runDataPlane } from '../../src/process/workers/data-plane.ts';
import type { PlaneHost } from '../../src/process/workers/index.ts';
import { PacketLink } from '../../src/process/workers/link.ts';

const wait = () => {
  throw new Error('planes of one thread must not wait for each other');
};

/** Runs all planes in this thread, with one clock. Messages between them arrive at once. */
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

/** Connects two sides in this thread: messages arrive before `post` returns. */
export function linkInThread(): readonly [PacketLink, PacketLink] {
  const one: PacketLink = new PacketLink(packet => other.take(structuredClone(packet)));
  const other: PacketLink = new PacketLink(packet => one.take(structuredClone(packet)));
  return [one, other];
}
