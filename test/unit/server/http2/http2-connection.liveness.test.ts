import { expect, it } from 'vitest';
import { Liveness } from '../../../../src/server/http2/http2-connection.ts';

const TERMS = { keepAliveMs: 1_000, clientReadMs: 500 };

/** Sweeps at these moments; the numbers of bytes that had come by then are given beside. */
function sweeps(moments: readonly (readonly [atMs: number, bytes: number])[], busy = true) {
  const liveness = new Liveness();
  const pings: number[] = [];
  const lost = moments.filter(([atMs, bytes]) =>
    liveness.isLost(atMs, bytes, busy, TERMS, () => pings.push(atMs)),
  );
  return { pings, lost: lost.map(([atMs]) => atMs) };
}

it('the watch over liveness asks a silent client with streams under way once, and gives it up when nothing comes', () => {
  expect(sweeps([0, 500, 1_000, 1_500, 2_000, 2_500, 3_000].map(atMs => [atMs, 9]))).toEqual({
    pings: [1_500],
    lost: [3_000],
  });
});

it('the watch over liveness asks again a client that answered, after as long', () => {
  const moments = [0, 1_500, 2_000, 2_500, 3_000, 3_500].map(atMs => [atMs, atMs < 2_000 ? 9 : 26] as const);
  expect(sweeps(moments)).toEqual({ pings: [1_500, 3_500], lost: [] });
});

it('the watch over liveness asks none without streams', () => {
  expect(
    sweeps(
      [
        [0, 9],
        [5_000, 9],
        [10_000, 9],
      ],
      false,
    ),
  ).toEqual({ pings: [], lost: [] });
});
