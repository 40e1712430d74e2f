import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

// Every test that starts a command starts a Node process that compiles the sources: cached, that takes a third of the time.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/weir-compile');
// Tables of limits are large, and a test uses a few records: glibc then takes their memory from the kernel, which has it as zeros already.
process.env.MALLOC_MMAP_THRESHOLD_ ??= '131072';

const SHARED = {
  // Files take turns in the processes of the workers: to start one for each file took a third of the processor time of a run. Threads
  // would take as much as these processes (15.1 and 15.8 s for the wire and the core), and a thread has no umask and no signals of its own.
  isolate: false,
  // Threads that collect garbage together wait for each other, which more workers than cores make long.
  execArgv: ['--single-threaded-gc'],
  // Node imports the sources itself, and keeps what it compiled.
  experimental: { viteModuleRunner: false },
  setupFiles: [
    'test/support/stable-urls.ts',
    'test/support/setup.ts',
    'test/support/no-real-time.ts',
    'test/support/costs/file-cost.ts',
  ],
  // Generous: these limits only end what went wrong. The clock cannot tell a busy machine from a broken gateway.
  expect: { poll: { timeout: 60_000 } },
  testTimeout: 300_000,
  // The first run on a machine fetches what the tests start: programs, a browser, modules of Go.
  hookTimeout: 900_000,
};

/** Files that need a process of their own, by the reason. */
const ALONE = {
  'measures the memory of its process': [
    'story/reload-memory',
    'story/many-routes',
    'story/single-bytes',
    'story/http2-broken-upstreams',
    'story/web-sockets',
    'unit/process/workers/heap',
  ],
  'replaces a function of Node.js before the sources import it': [
    'unit/limits/counting/limit-definition.bucket-hash',
  ],
};
const alone = Object.values(ALONE)
  .flat()
  .map(name => `test/${name}.test.ts`);

/** Files that need time that really passes say so: what they leave running would set timers of this machine among the tests of others. */
const inRealTime = globSync('test/{story,store,unit}/**/*.test.ts', { cwd: import.meta.dirname }).filter(
  file =>
    !alone.includes(file) && readFileSync(join(import.meta.dirname, file), 'utf8').includes('\nrealTime('),
);

export default defineConfig({
  test: {
    globalSetup: ['test/support/programs-installed.ts'],
    // Stories mostly wait for sockets and timers, so four workers keep two cores busy.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    reporters: process.env.CI ? ['default'] : ['dot'],
    projects: [
      {
        test: {
          ...SHARED,
          name: 'shared',
          include: [
            'test/!(chart|long|clients|cluster|faults|keycloak|migrating|providers|services)/**/*.test.ts',
          ],
          exclude: [...alone, ...inRealTime],
        },
      },
      { test: { ...SHARED, name: 'real time', include: inRealTime } },
      {
        test: {
          ...SHARED,
          name: 'alone',
          include: alone,
          isolate: true,
          // Vitest finds what replaces a function by the URLs that it made.
          setupFiles: SHARED.setupFiles.slice(1),
        },
      },
    ],
  },
});
