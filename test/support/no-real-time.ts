import { afterAll, afterEach } from 'vitest';
import { forbidRealTime, takeBreaches } from './real-time.ts';

// Time that really passes makes a test slow, and a busy machine makes it fail: a test has its clocks advance.
forbidRealTime();
afterEach(expectNone);
afterAll(expectNone);

function expectNone(): void {
  const breaches = takeBreaches();
  if (breaches.length > 0)
    throw new Error(`waits for real time, see "Tests" in CONTRIBUTING.md:\n${breaches.join('\n')}`);
}
