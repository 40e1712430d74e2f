import { setTimeout as sleep } from 'node:timers/promises';

export { sleep };

/** How often in a row `settled` must find the same. */
const LOOKS = 30;

/**
 * Waits until a count changes no more: between two looks, this process reads and writes all that it can. If another process has part in
 * it, `count` asks that one for something, too: it answers behind what it had to do.
 */
export async function settled<T extends number | string>(count: () => T | Promise<T>): Promise<T> {
  let last = await count();
  for (let same = 0; same < LOOKS; same++) {
    await sleep(2);
    const now = await count();
    if (now !== last) same = 0;
    last = now;
  }
  return last;
}

/** Waits until the condition holds, looking less and less often: a look may cost a whole page. Throws with `what` after the time (default 60 s). */
export async function waitFor(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (let pauseMs = 2; !(await condition()); pauseMs = Math.min(40, pauseMs * 1.5)) {
    if (performance.now() > deadline) throw new Error(`after ${timeoutMs} ms still not: ${what}`);
    await sleep(pauseMs);
  }
}
