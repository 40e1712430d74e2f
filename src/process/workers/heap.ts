import { flushCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Makes V8 collect young objects without helper threads. Little survives a request, so dividing the work costs more than it
 * saves: docs/decisions/002-http2-towards-clients.md has the measurement. V8 reads the flag at each collection.
 */
export function collectOnOneThread(): void {
  setFlagsFromString('--no-parallel-scavenge');
}

/**
 * Collects all garbage of this thread, once, before the first request: 50 ms on an idle machine. V8 then returns the memory used
 * for loading scripts and reading the configuration, and starts with a small young generation: otherwise 20 MB in each thread
 * would stay resident (docs/decisions/023-threads.md). Of V8's kinds of collections, only the last resort shrinks the young
 * generation.
 */
export function collectWhatStartingLeft(): void {
  // Node.js keeps the files of compiled code that it has read, 1.5 MiB, until it has checked whether they have to be written
  // again.
  flushCompileCache();
  exposedCollector()?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/**
 * The same for the main thread if there are workers. It serves no clients, so all bytecode that is not running at the moment is
 * dropped, 1.7 MiB: V8 recompiles what a report or a reload needs.
 */
export function collectInMainThread(): void {
  // Bytecode counts as old if it did not run since the last collection. V8's default is the last six.
  setFlagsFromString('--bytecode-old-age=1');
  collectWhatStartingLeft();
  setFlagsFromString('--bytecode-old-age=6');
}

/** Node.js does not offer these options. They are those of V8's `gc` extension (src/extensions/gc-extension.cc). */
type Collector = (how: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

function exposedCollector(): Collector | null {
  // Flags apply to the whole process: another starting thread may reset this one meanwhile.
  for (let tries = 0; tries < 100; tries++) {
    setFlagsFromString('--expose-gc');
    const collect: unknown = runInNewContext('globalThis.gc');
    setFlagsFromString('--no-expose-gc');
    if (typeof collect === 'function') return collect as Collector;
  }
  return null;
}
