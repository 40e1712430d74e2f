import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** Processor time of a file: imports, tests, its worker's start if it has one of its own, and the processes it started. */
    processorSeconds?: number;
  }
}

const SECONDS_IN_TICK = 0.01;

/** Of this process. Files that share one count from where the last file ended. */
const counted: { processorSeconds?: number } & typeof globalThis = globalThis;

// biome-ignore lint/correctness/noEmptyPattern: vitest wants a pattern here, for fixtures.
afterAll(({}, file) => {
  const seconds = processorSeconds();
  file.meta.processorSeconds = seconds - (counted.processorSeconds ?? 0);
  counted.processorSeconds = seconds;
});

/** Processor time of this process and, on Linux, of the processes that it started and that have ended. */
function processorSeconds(): number {
  if (process.platform !== 'linux') {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // proc(5): `utime`, `stime`, `cutime` and `cstime` are the fields 14 to 17. The second one is in parentheses and may have spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * SECONDS_IN_TICK, 0);
}
