import { getHeapStatistics } from 'node:v8';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import type * as core from '../../core/index.ts';
import {
  clockOriginMs,
  clockSince,
  errorStack,
  errorText,
  MAIN_SCRIPT,
  thisMachine,
} from '../../core/index.ts';
import { makeLogger } from '../../observe/index.ts';
import { runDataPlane } from './data-plane.ts';
import { collectWhatStartingLeft } from './heap.ts';
import { LineSender } from './line-sender.ts';
import { type Link, type Packet, PacketLink } from './link.ts';
import type { PlaneSeed } from './messages.ts';

/** Where planes run: each in its own thread, or all in this one. */
export interface PlaneHost {
  /** How a plane waits for memory that another one has locked. */
  readonly wait?: core.LockWait;
  start(seed: PlaneSeed): HostedPlane;
}

export interface HostedPlane {
  readonly link: Link;
  /** Resolves when it has ended, to the reason. */
  readonly ended: Promise<string>;
  end(): void;
}

const MIN_HEAP_MB = 64;

/**
 * Runs each plane in its own thread.
 *
 * @param workers their number: together they get as much heap as Node.js gives one gateway
 * @param script runs a plane in each thread. Default: the executable
 */
export function threadHost(workers: number, script = MAIN_SCRIPT): PlaneHost {
  const heapMb = Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20 / workers);
  const originMs = clockOriginMs();
  const resourceLimits = { maxOldGenerationSizeMb: Math.max(MIN_HEAP_MB, heapMb) };
  return {
    start(seed) {
      const { worker } = seed;
      const workerData = { ...seed, originMs };
      try {
        return hosted(new Worker(script, { workerData, name: `worker ${worker}`, resourceLimits }), worker);
      } catch (error) {
        return stillborn(worker, error);
      }
    },
  };
}

/** A plane for which the system has no thread: it ended immediately. */
function stillborn(worker: number, error: unknown): HostedPlane {
  const cause = `the system gives it no thread: ${errorText(error)}`;
  const link = new PacketLink(() => {});
  link.close(`worker ${worker} cannot start: ${cause}`);
  return { link, ended: Promise.resolve(cause), end: () => {} };
}

function hosted(thread: Worker, worker: number): HostedPlane {
  const link = new PacketLink(packet => thread.postMessage(packet));
  thread.on('message', (packet: Packet) => link.take(packet));
  let fault: string | null = null;
  thread.on('error', error => {
    fault = errorStack(error);
  });
  const ended = new Promise<string>(resolve => {
    thread.on('exit', code => {
      const cause = fault ?? `it ended with code ${code}`;
      link.close(`worker ${worker} ended: ${cause}`);
      resolve(cause);
    });
  });
  return { link, ended, end: () => void thread.terminate() };
}

/** Serves clients in this thread, started by the control plane. */
export function runWorkerThread(): void {
  const port = parentPort;
  if (port === null) throw new Error('this is not a worker');
  const link = new PacketLink(packet => port.postMessage(packet));
  const lines = new LineSender(link, thisMachine.clock);
  const log = makeLogger('info', lines);
  const system = { ...thisMachine, clock: clockSince(workerData.originMs) };
  runDataPlane(workerData, {
    link,
    system,
    log,
    beforeServing: collectWhatStartingLeft,
    sendLog: () => lines.send(),
  });
  port.on('message', (packet: Packet) => link.take(packet));
}
