import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/setup.ts'],
    // Story tests open real sockets and start real processes: two cores bear two files at a time.
    maxWorkers: 2,
    // Generous, since they only end what went wrong: a busy machine is not to be told from a broken gateway by the clock.
    expect: { poll: { timeout: 10_000 } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: process.env.CI ? ['default'] : ['dot'],
  },
});
