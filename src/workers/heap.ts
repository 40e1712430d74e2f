import { flushCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Has V8 collect young objects without helper threads. Little survives a request, so sharing the work out costs more than it
 * saves: docs/decisions/002-http2-towards-clients.md has the measurement. V8 reads the flag at each collection.
 */
export function collectOnOneThread(): void {
  setFlagsFromString('--no-parallel-scavenge');
}

/**
 * Collects all garbage of this thread, once, before the first request can come: 50 ms on an idle machine. V8 then gives back what
 * it took to load scripts and to read the configuration, and begins with a small young generation: 20 MB in each thread, which
 * would stay resident (docs/decisions/023-threads.md). Of all collections that V8 offers, only the last resort shrinks the young
 * generation.
 */
export function collectWhatStartingLeft(): void {
  // Node.js holds the files of compiled code that it has read, 1.5 MiB, until it has looked whether they have to be written again.
  flushCompileCache();
  exposedCollector()?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/**
 * The same for the main thread beside workers. It serves no client, so all bytecode goes that does not run at this moment, 1.7 MiB: V8
 * compiles again what a report or a reload needs.
 */
export function collectBesideWorkers(): void {
  // Bytecode is old that did not run since the last collection. V8's default is the last six.
  setFlagsFromString('--bytecode-old-age=1');
  collectWhatStartingLeft();
  setFlagsFromString('--bytecode-old-age=6');
}

/** Node.js does not offer these options itself. They are those of V8's `gc` extension (src/extensions/gc-extension.cc). */
type Collector = (how: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

function exposedCollector(): Collector | null {
  // Flags hold for the whole process: another thread that starts may reset this one in between.
  for (let tries = 0; tries < 100; tries++) {
    setFlagsFromString('--expose-gc');
    const collect: unknown = runInNewContext('globalThis.gc');
    setFlagsFromString('--no-expose-gc');
    if (typeof collect === 'function') return collect as Collector;
  }
  return null;
}
