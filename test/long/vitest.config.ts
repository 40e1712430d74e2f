import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

const ROOT = join(import.meta.dirname, '../..');
// As in vitest.config.ts of the root.
process.env.NODE_COMPILE_CACHE ??= join(ROOT, 'node_modules/.cache/weir-compile');

const SHARED = {
  setupFiles: ['test/support/stable-urls.ts', 'test/support/setup.ts', 'test/support/costs/file-cost.ts'],
  expect: { poll: { timeout: 60_000 } },
  testTimeout: 3_600_000,
  // The first run on a machine fetches what the tests start: programs, a browser, modules of Go.
  hookTimeout: 900_000,
};

/** Every file that plays random runs: `npm test` plays a tenth of them. */
const RANDOM = globSync('test/{unit,story,store,world}/**/*.test.ts', { cwd: ROOT }).filter(file =>
  readFileSync(join(ROOT, file), 'utf8').includes('/support/runs.ts'),
);

/** For `npm run test:long`: what starts programs of others or waits for minutes, and the whole of what plays at random. */
export default defineConfig({
  root: ROOT,
  test: {
    globalSetup: ['test/support/programs-installed.ts'],
    maxWorkers: 4,
    reporters: process.env.CI ? ['default'] : ['dot'],
    projects: [
      { test: { ...SHARED, name: 'long', include: ['test/long/*.test.ts'] } },
      {
        test: {
          ...SHARED,
          name: 'random',
          setupFiles: [...SHARED.setupFiles, 'test/support/no-real-time.ts'],
          include: RANDOM,
        },
      },
    ],
  },
});
