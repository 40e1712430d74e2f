import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** For `npm run test:faults`: faults with real parts, each under load. One file at a time: each is a load of its own. */
export default defineConfig({
  root: join(import.meta.dirname, '../..'),
  test: {
    globalSetup: ['test/support/programs-installed.ts'],
    setupFiles: ['test/support/setup.ts'],
    include: ['test/faults/*.test.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    fileParallelism: false,
    reporters: ['verbose'],
  },
});
