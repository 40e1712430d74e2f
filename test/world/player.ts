import process from 'node:process';
import type { Played } from './many.ts';
import { play } from './play.ts';

// Plays the seeds that its parent sends, one after the other.
process.on('message', async (seed: number) => {
  const { findings, digest, requests } = await play(seed);
  const played: Played = { seed, findings, digest, requests };
  process.send?.(played);
});
