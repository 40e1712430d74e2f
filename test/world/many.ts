import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { env } from 'node:process';
import type { Finding } from './world.ts';

const PLAYER = join(import.meta.dirname, 'player.ts');
const TOLD_EVERY_MS = 10_000;
const NIGHT_S = 8 * 3_600;
/**
 * How many worlds a process plays before another takes its place, whose first worlds cost 3 s more. In 330 worlds its memory grew to 700 MiB, in
 * the first 130 of them.
 */
const WORLDS_OF_A_PROCESS = 500;
/**
 * Has glibc ask the system for each large table, which comes empty and costs only what is touched of it. Otherwise it soon takes them from
 * memory that was used before, and clears ten megabytes for each gateway that starts.
 */
const PLAYER_ENV = { ...env, MALLOC_MMAP_THRESHOLD_: '131072' };

/** What a process tells of a world that it has played. */
export interface Played {
  readonly seed: number;
  readonly findings: readonly Finding[];
  readonly digest: string;
  readonly requests: number;
}

export interface ManyOptions {
  readonly from: number;
  readonly minutes: number;
  /** How many worlds are played at once, each in a process of its own. */
  readonly processes: number;
  readonly say: (line: string) => void;
  /** Hears of each world that broke a rule. */
  readonly failed: (played: Played) => void;
}

/** Plays one seed after the other, in several processes, until the time is over. Returns whether no rule was broken. */
export async function playMany(options: ManyOptions): Promise<boolean> {
  const { from, minutes, processes, say } = options;
  const beganMs = performance.now();
  let nextSeed = from;
  const total = { played: 0, failed: 0, requests: 0 };
  const tell = () => {
    const rate = total.played / ((performance.now() - beganMs) / 1_000);
    say(
      `${total.played} worlds, ${total.failed} failed, ${total.requests} requests, ${rate.toFixed(2)} worlds/s, ` +
        `${Math.round(rate * NIGHT_S)} in 8 hours, next seed ${nextSeed}`,
    );
  };
  const take = () => (performance.now() - beganMs < minutes * 60_000 ? nextSeed++ : null);
  const note = (played: Played) => {
    total.played++;
    total.requests += played.requests;
    if (played.findings.length === 0) return;
    total.failed++;
    options.failed(played);
  };
  const telling = setInterval(tell, TOLD_EVERY_MS);
  await Promise.all(Array.from({ length: processes }, () => playOnAndOn(take, note)));
  clearInterval(telling);
  tell();
  return total.failed === 0;
}

/** Has a process play what `take` gives, until that is `null`. A process that a world ends, or that has played many, is replaced. */
async function playOnAndOn(take: () => number | null, note: (played: Played) => void): Promise<void> {
  let player = fork(PLAYER, { env: PLAYER_ENV });
  let count = 0;
  for (let seed = take(); seed !== null; seed = take()) {
    if (++count % WORLDS_OF_A_PROCESS === 0) {
      player.disconnect();
      player = fork(PLAYER, { env: PLAYER_ENV });
    }
    const played = await playIn(player, seed);
    if (typeof played === 'object') note(played);
    else {
      const what = `it ended the process, with ${played}`;
      note({ seed, findings: [{ oracle: 'fault', what, atMs: 0 }], digest: '', requests: 0 });
      player = fork(PLAYER, { env: PLAYER_ENV });
    }
  }
  player.disconnect();
}

/** Resolves to what the process tells, or to how it ended. */
function playIn(player: ChildProcess, seed: number): Promise<Played | string> {
  return new Promise(resolve => {
    const exited = (code: number | null, signal: string | null) => resolve(signal ?? `code ${code}`);
    player.once('exit', exited);
    player.once('message', (played: Played) => {
      player.off('exit', exited);
      resolve(played);
    });
    player.send(seed);
  });
}
