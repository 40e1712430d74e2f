import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

const ALL = 'test/keycloak/*.test.ts';
/** Stops Keycloak, so it comes when all others are done. */
const OUTAGES = 'test/keycloak/outages.test.ts';

const SHARED = {
  setupFiles: ['test/support/setup.ts'],
  expect: { poll: { timeout: 10_000 } },
  testTimeout: 600_000,
  // The first run on a machine fetches a browser.
  hookTimeout: 900_000,
};

/** For `npm run test:keycloak`: one Keycloak for all files, each with a realm of its own. They mostly wait: three run at once. */
export default defineConfig({
  root: join(import.meta.dirname, '../..'),
  test: {
    globalSetup: ['test/support/programs-installed.ts', 'test/keycloak/keycloak-started.ts'],
    maxWorkers: 3,
    reporters: ['verbose'],
    projects: [
      {
        test: {
          ...SHARED,
          name: 'keycloak',
          include: [ALL],
          exclude: [OUTAGES],
          sequence: { groupOrder: 0 },
        },
      },
      { test: { ...SHARED, name: 'outages', include: [OUTAGES], sequence: { groupOrder: 1 } } },
    ],
  },
});
