import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

// Every test that starts a command starts a Node process that compiles the sources: cached, that takes a third of the time.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/weir-compile');

const SHARED = {
  setupFiles: ['test/support/setup.ts', 'test/support/costs/file-cost.ts'],
  // Generous: these limits only end what went wrong. The clock cannot tell a busy machine from a broken gateway.
  expect: { poll: { timeout: 60_000 } },
  testTimeout: 300_000,
  // The first run on a machine fetches what the tests start: programs, a browser, modules of Go.
  hookTimeout: 900_000,
};

/** They measure the memory of their process, so each has one of its own. */
const ALONE = ['reload-memory', 'many-routes', 'single-bytes', 'http2-broken-upstreams', 'web-sockets'].map(
  name => `test/story/${name}.test.ts`,
);
const STORIES = {
  ...SHARED,
  setupFiles: [...SHARED.setupFiles, 'test/support/forget-secrets.ts'],
};

export default defineConfig({
  test: {
    globalSetup: ['test/support/redis-installed.ts'],
    // Stories mostly wait for sockets and timers, so four workers keep two cores busy.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    reporters: process.env.CI ? ['default'] : ['dot'],
    projects: [
      // Each file has a process of its own, for 0.7 s of processor time: in shared ones, what gateways had held added up to 24 GiB.
      { test: { ...SHARED, name: 'unit', include: ['test/unit/**/*.test.ts'] } },
      {
        test: {
          ...STORIES,
          name: 'story',
          include: ['test/!(unit|chart|long|clients|cluster|faults|keycloak|migrating)/**/*.test.ts'],
          exclude: ALONE,
        },
      },
      { test: { ...STORIES, name: 'alone', include: ALONE } },
    ],
  },
});
