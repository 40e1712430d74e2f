import { extname } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { clockOriginMs, errorStack } from '../core/index.ts';
import type { HostedPlane, PlaneHost } from './host.ts';
import { type Packet, PacketLink } from './link.ts';

/** The executable: it knows when it runs in a worker. In the package, this file is part of a script in a folder beside it. */
const MAIN = new URL(`../main${extname(import.meta.filename)}`, import.meta.url);

/** The least memory for the objects of a worker. */
const LEAST_HEAP_MB = 64;

/**
 * Runs each plane in a thread of its own.
 *
 * @param workers how many there are: together they may hold as many objects as Node.js lets one gateway hold
 * @param script runs a plane in each thread. Default: the executable
 */
export function threadHost(workers: number, script = MAIN): PlaneHost {
  const heapMb = Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20 / workers);
  const originMs = clockOriginMs();
  const resourceLimits = { maxOldGenerationSizeMb: Math.max(LEAST_HEAP_MB, heapMb) };
  return {
    start: seed =>
      hosted(
        new Worker(script, {
          workerData: { ...seed, originMs },
          name: `worker ${seed.worker}`,
          resourceLimits,
        }),
      ),
  };
}

function hosted(thread: Worker): HostedPlane {
  const link = new PacketLink(packet => thread.postMessage(packet));
  thread.on('message', (packet: Packet) => link.take(packet));
  let fault: string | null = null;
  thread.on('error', error => {
    fault = errorStack(error);
  });
  const ended = new Promise<string>(resolve => {
    thread.on('exit', code => {
      const cause = fault ?? `it ended with code ${code}`;
      link.close(cause);
      resolve(cause);
    });
  });
  return { link, ended, end: () => void thread.terminate() };
}
