import { defineConfig } from 'vitest/config';

/** What scripts/mutate.ts runs against each change: tests that do not make thousands of rounds, in the folders and files it names. */
export default defineConfig({
  test: {
    setupFiles: ['test/support/setup.ts', 'test/support/no-real-time.ts'],
    include: (process.env.WEIR_MUTATION_TESTS ?? 'test/unit')
      .split('\n')
      .map(path => (path.endsWith('.ts') ? path : `${path}/**/*.test.ts`)),
    exclude: ['test/unit/**/*.fuzz.test.ts'],
    testNamePattern:
      /^(?!.*(?:never makes the reader throw|for a hundred times as many addresses|the faulty generator))/,
    testTimeout: 60_000,
  },
});
