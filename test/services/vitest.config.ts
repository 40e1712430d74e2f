import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** For `npm run test:services`: applications of others, each used by its own client, direct and through Weir. */
export default defineConfig({
  root: join(import.meta.dirname, '../..'),
  test: {
    setupFiles: ['test/support/setup.ts'],
    include: ['test/services/*.test.ts'],
    // The first run fetches the applications.
    testTimeout: 1_800_000,
    hookTimeout: 900_000,
    reporters: ['verbose'],
  },
});
