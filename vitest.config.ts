import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

// Every test that starts a command starts a Node process that compiles the sources: cached, that takes a third of the time.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/weir-compile');

const SHARED = {
  setupFiles: ['test/support/setup.ts', 'test/support/costs/file-cost.ts'],
  // Generous: these limits only end what went wrong. The clock cannot tell a busy machine from a broken gateway.
  expect: { poll: { timeout: 10_000 } },
  testTimeout: 60_000,
  hookTimeout: 60_000,
};

export default defineConfig({
  test: {
    globalSetup: ['test/support/redis-installed.ts'],
    // Stories mostly wait for sockets and timers, so four workers keep two cores busy.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    reporters: process.env.CI ? ['default'] : ['dot'],
    projects: [
      // Unit tests share nothing that changes, so their files can share a worker's modules.
      { test: { ...SHARED, name: 'unit', include: ['test/unit/**/*.test.ts'], isolate: false } },
      { test: { ...SHARED, name: 'story', include: ['test/!(unit|chart|cluster|keycloak)/**/*.test.ts'] } },
    ],
  },
});
