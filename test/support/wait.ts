import { setTimeout as sleep } from 'node:timers/promises';

export { sleep };

/** Waits until the condition holds, looking every few milliseconds. Throws with `what` after the time (default 60 s). */
export async function waitFor(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`after ${timeoutMs} ms still not: ${what}`);
    await sleep(5);
  }
}
