import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// The tests of helm/weir, `npm run test:chart`: apart from the others, because they fetch Helm first.
export default defineConfig({
  root: join(import.meta.dirname, '../..'),
  test: {
    include: ['test/chart/*.test.ts'],
    globalSetup: ['test/chart/helm-fetched.ts'],
    // Generous: it only ends what went wrong on a busy machine.
    testTimeout: 300_000,
    isolate: false,
  },
});
