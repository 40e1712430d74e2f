import { pathToFileURL } from 'node:url';
import { BroadcastChannel } from 'node:worker_threads';
import { type HostedPlane, type PlaneHost, threadHost } from '../../src/process/workers/index.ts';
import { atEnd } from './lifetime.ts';
import { bundledScript } from './weir-bundle.ts';

/**
 * Real threads with little memory, which die or are late as a test says: by a fault of `faulty-worker.ts`, or terminated. After
 * `withhold`, so many workers get no thread.
 */
export async function frailHost() {
  const script = pathToFileURL(await bundledScript('faulty-worker'));
  const inner = threadHost(1_000, script);
  // Node.js refuses this script where it would start the thread, as it does where the system has none.
  const without = threadHost(1_000, new URL('https://nowhere.example/'));
  let withheld = 0;
  const planes = new Map<number, HostedPlane>();
  const host: PlaneHost = {
    start(seed) {
      const plane = (withheld-- > 0 ? without : inner).start(seed);
      planes.set(seed.worker, plane);
      return plane;
    },
  };
  const channel = new BroadcastChannel('faults');
  atEnd(() => channel.close());
  const kill = (worker: number, fault: string) => {
    if (fault === 'is terminated') planes.get(worker)?.end();
    else channel.postMessage({ worker, fault });
  };
  const withhold = (count: number) => {
    withheld = count;
  };
  return { host, kill, withhold };
}
