import { afterAll, beforeEach } from 'vitest';
import { collect } from './memory.ts';
import { forgetSecrets } from './secrets.ts';
import { waitFor } from './wait.ts';

// Runs for each test file, also where files share a process: hooks of a module that they share would count for the first of them.

/** Tests run on the Node that the project pins: vitest itself would also start on an older one and prove nothing. */
const major = Number(process.versions.node.split('.')[0]);
if (major < 26)
  throw new Error(
    `Weir's tests need Node 26 or newer, this is ${process.version}: start them with "npm test"`,
  );

beforeEach(forgetSecrets);

/** Registered first, so that it runs behind what a file ends itself. */
afterAll(async () => {
  const isAnyLeft = () => process.getActiveResourcesInfo().includes('ProcessWrap');
  if (isAnyLeft()) await waitFor('the processes that this file has started have ended', () => !isAnyLeft());
});

/** V8 does not see what the shared memory of a gateway takes, tens of MiB, and so does not hurry to collect what is left of it. */
const RESIDENT_BYTES = 500 * 2 ** 20;
const MORE_BYTES = 100 * 2 ** 20;
/** Of this process, after the last collection: what is in use is not looked through again after each file. */
const kept: { residentBytes?: number } & typeof globalThis = globalThis;
afterAll(() => {
  if (process.memoryUsage.rss() < Math.max(RESIDENT_BYTES, (kept.residentBytes ?? 0) + MORE_BYTES)) return;
  collect();
  kept.residentBytes = process.memoryUsage.rss();
});
