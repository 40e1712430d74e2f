import { defineConfig } from 'vitest/config';

/** For `npm run test:cluster`: real programs with ports and addresses of their own, so one file after the other. */
export default defineConfig({
  test: {
    include: ['test/cluster/**/*.test.ts'],
    globalSetup: ['test/cluster/kubelet/image.ts'],
    setupFiles: ['test/support/setup.ts'],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ['verbose'],
  },
});
