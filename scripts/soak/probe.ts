// Loaded before the gateway (`--import`), into its main thread and into each worker: says what they hold once garbage is collected.
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BroadcastChannel, isMainThread, workerData } from 'node:worker_threads';

/** What one thread holds. */
export interface ThreadHolds {
  /** Bytes of objects, and of what they hold outside the heap. */
  readonly heapUsed: number;
  readonly external: number;
  /** Timers that are set: those of Node.js itself are not among them. */
  readonly timers: number;
  /** How many sockets, servers and other handles keep its event loop running. */
  readonly handles: number;
}

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');
const timers = countTimers();
const channel = new BroadcastChannel('soak');
channel.unref();

if (isMainThread) {
  let answers: ThreadHolds[] = [];
  channel.onmessage = event => answers.push(Object(event).data);
  /** Asked with the number of workers, answers with what the main thread and they hold. */
  process.on('message', async (workers: number | 'a worker dies') => {
    if (typeof workers === 'string') {
      channel.postMessage(workers);
      return;
    }
    answers = [];
    channel.postMessage('what do you hold?');
    for (let tries = 0; answers.length < workers && tries < 500; tries++) await sleep(10);
    process.send?.([await holds(), ...answers]);
  });
  process.channel?.unref();
} else {
  channel.onmessage = async event => {
    const { data } = Object(event);
    if (data === 'what do you hold?') channel.postMessage(await holds());
    if (data === 'a worker dies' && workerData.worker === 1) setImmediate(die);
  };
}

function die(): never {
  throw new Error('a fault of the soak');
}

async function holds(): Promise<ThreadHolds> {
  collect();
  // What was waiting for the first collection, such as the callbacks of a FinalizationRegistry, runs now.
  await sleep(20);
  collect();
  const { heapUsed, external } = process.memoryUsage();
  const handles = process.getActiveResourcesInfo().filter(kind => kind !== 'Timeout').length;
  return { heapUsed, external, timers: timers(), handles };
}

/** Counts what is set by the global functions: Node.js lists no timer that does not keep the process running. */
function countTimers(): () => number {
  const live = new Set<object>();
  const { setTimeout: once, setInterval: each, clearTimeout: clear } = globalThis;
  const counted = Object.assign((run: (...more: unknown[]) => void, ms?: number, ...more: unknown[]) => {
    const timer = once(() => {
      live.delete(timer);
      run(...more);
    }, ms);
    live.add(timer);
    return timer;
  }, once);
  globalThis.setTimeout = counted;
  globalThis.setInterval = Object.assign(
    (run: (...more: unknown[]) => void, ms?: number, ...more: unknown[]) => {
      const timer = each(run, ms, ...more);
      live.add(timer);
      return timer;
    },
    each,
  );
  globalThis.clearTimeout = timer => {
    live.delete(Object(timer));
    clear(timer);
  };
  globalThis.clearInterval = globalThis.clearTimeout;
  return () => live.size;
}
