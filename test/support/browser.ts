import { onTestFinished } from 'vitest';
import { type Browser, runBrowser } from './browser-process.ts';
import { ensureInstalled } from './installed.ts';
import { tempFolder } from './temp.ts';

export type { Browser, Page } from './browser-process.ts';

/** Once before the tests of a file, with time for a download. */
export function installBrowser(): void {
  ensureInstalled({ command: 'chromium', versionArgs: ['--version'], packages: ['chromium'] });
}

/** Starts a headless Chromium with a profile of its own. The end of the running test ends it. */
export async function startBrowser(): Promise<Browser> {
  const { browser, end } = runBrowser(await tempFolder());
  onTestFinished(end);
  return browser;
}
