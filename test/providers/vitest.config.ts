import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** For `npm run test:providers`: the configurations of docs/provider-configurations.md, each against an imitation of its provider. */
export default defineConfig({
  root: join(import.meta.dirname, '../..'),
  test: {
    setupFiles: ['test/support/setup.ts'],
    include: ['test/providers/*.test.ts'],
    expect: { poll: { timeout: 10_000 } },
    testTimeout: 600_000,
    maxWorkers: 2,
    reporters: ['verbose'],
  },
});
