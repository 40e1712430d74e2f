import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** For `npm run test:h2spec` and `npm run test:clients`: programs that others wrote, against a gateway on real sockets. */
export default defineConfig({
  root: join(import.meta.dirname, '../..'),
  test: {
    setupFiles: ['test/support/setup.ts'],
    include: ['test/clients/*.test.ts'],
    expect: { poll: { timeout: 10_000 } },
    // The first build of a client fetches what it is made of.
    testTimeout: 300_000,
    hookTimeout: 900_000,
    maxWorkers: 2,
    reporters: ['verbose'],
  },
});
