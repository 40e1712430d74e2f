import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** For `npm run test:keycloak`: one Keycloak for all files, which some of them stop, so one file after the other. */
export default defineConfig({
  root: join(import.meta.dirname, '../..'),
  test: {
    include: ['test/keycloak/*.test.ts'],
    globalSetup: ['test/support/redis-installed.ts', 'test/keycloak/keycloak-started.ts'],
    setupFiles: ['test/support/setup.ts'],
    fileParallelism: false,
    expect: { poll: { timeout: 10_000 } },
    testTimeout: 180_000,
    hookTimeout: 180_000,
    reporters: ['verbose'],
  },
});
