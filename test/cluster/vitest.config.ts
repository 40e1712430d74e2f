import { defineConfig } from 'vitest/config';

/** For `npm run test:cluster`: real programs with ports and addresses of their own, so one file after the other. */
export default defineConfig({
  test: {
    include: ['test/cluster/**/*.test.ts'],
    globalSetup: ['test/cluster/kubelet/image.ts'],
    setupFiles: ['test/support/setup.ts'],
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 600_000,
    reporters: ['verbose'],
  },
});
