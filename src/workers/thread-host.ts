import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { errorText } from '../core/index.ts';
import type { HostedPlane, PlaneHost } from './host.ts';
import { type Packet, PacketLink } from './link.ts';
import type { PlaneSeed } from './messages.ts';

/** The executable: it knows when it runs in a worker. In the package, this file is part of a script in a folder beside it. */
const MAIN = new URL(`../main${extname(import.meta.filename)}`, import.meta.url);

/** Runs each plane in a thread of its own. */
export const threadHost: PlaneHost = {
  start(seed: PlaneSeed): HostedPlane {
    const thread = new Worker(MAIN, { workerData: seed, name: `worker ${seed.worker}` });
    const link = new PacketLink(packet => thread.postMessage(packet));
    thread.on('message', (packet: Packet) => link.take(packet));
    let fault: string | null = null;
    thread.on('error', error => {
      fault = errorText(error);
    });
    const ended = new Promise<string>(resolve => {
      thread.on('exit', code => {
        const cause = fault ?? `it ended with code ${code}`;
        link.close(cause);
        resolve(cause);
      });
    });
    return { link, ended, end: () => void thread.terminate() };
  },
};
