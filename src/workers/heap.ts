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
 * Collects young objects once, before the first request can come: 3 ms. It makes V8 give back, some seconds later, what it took
 * to load scripts and to read the configuration. That is 13 MB, which would stay resident for as long as the gateway rests.
 */
export function collectWhatStartingLeft(): void {
  setFlagsFromString('--expose-gc');
  // Flags hold for the whole process: another thread may have reset this one since, so there may be no `gc`.
  const collect: unknown = runInNewContext('globalThis.gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof collect === 'function') collect({ type: 'minor', execution: 'sync' });
}
