import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** For `npm run test:migrating`: the gateways of docs/migrating.md that `npm test` does not start, beside Weir. */
export default defineConfig({
  root: join(import.meta.dirname, '../..'),
  test: {
    setupFiles: ['test/support/setup.ts'],
    include: ['test/migrating/*.test.ts'],
    expect: { poll: { timeout: 60_000 } },
    testTimeout: 900_000,
    // The first run fetches express-gateway.
    hookTimeout: 900_000,
    reporters: ['verbose'],
  },
});
