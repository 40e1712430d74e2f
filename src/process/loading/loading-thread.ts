import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import type { LoadedData, loadConfig } from '../../config/index.ts';
import { errorText, giveWay, MAIN_SCRIPT } from '../../core/index.ts';

/** The options of `loadConfig` that can be passed to a thread. */
interface LoadRequest {
  readonly path: string;
  readonly options: Pick<Parameters<typeof loadConfig>[1], 'env' | 'generation' | 'limitKeys' | 'machine'>;
}

/**
 * The young generation of the thread. A larger one does not save processor time, and V8 keeps its pages for the next thread: 110
 * MiB more after four loads with 16.
 */
const YOUNG_MB = 8;

/**
 * Loads configurations in a thread that is started for each and ends with it, so that the threads that serve do nothing but
 * compile what changed, in slices.
 *
 * @param script runs `runLoadingThread` in a thread. Default: the executable
 * @returns does the same as `loadConfig`; rejects with the cause if the thread cannot start, or dies
 */
export function loadInThread(script: string | URL = MAIN_SCRIPT): typeof loadConfig {
  return async (path, { env, generation, limitKeys, machine, ...options }) => {
    const { fromData } = await import('../../config/index.ts');
    const passedOn = { env: { ...env }, generation, limitKeys, machine };
    return fromData(await askThread(script, { path, options: passedOn }), { ...passedOn, ...options });
  };
}

async function askThread(script: string | URL, load: LoadRequest): Promise<LoadedData> {
  const thread = new Worker(script, {
    workerData: { load },
    name: 'loader',
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  });
  // `nextFrom` reports the error to the code that waits for a message.
  thread.on('error', () => {});
  try {
    return (await nextFrom(thread)) as LoadedData;
  } finally {
    void thread.terminate();
  }
}

/** Resolves to its next message; rejects if the thread ends instead. */
function nextFrom(thread: Worker): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const fail = (error: unknown) => reject(new Error(`the thread that reads it died: ${errorText(error)}`));
  const exited = (code: number) => fail(new Error(`it ended with code ${code}`));
  thread.once('message', resolve).once('error', fail).once('exit', exited);
  return promise.finally(() => thread.off('message', resolve).off('error', fail).off('exit', exited));
}

/** Loads what this thread was started for, and hands it over. Returns false if the thread has another purpose. */
export async function runLoadingThread(): Promise<boolean> {
  const { load }: { readonly load?: LoadRequest } = workerData ?? {};
  const port = parentPort;
  if (isMainThread || load === undefined || port === null) return false;
  giveWay();
  // Import it only in this thread: loading the code is a fifth of the work.
  const { loadConfig } = await import('../../config/index.ts');
  const result = await loadConfig(load.path, { ...load.options, reader: 'thread' });
  const readings = result.readings.data;
  // The snapshot stays in this thread: it has functions, which cannot be passed on.
  const loaded: LoadedData = result.ok
    ? { ok: true, data: result.data, warnings: result.warnings, hints: result.hints, readings }
    : { ...result, readings };
  port.postMessage(loaded);
  return true;
}
