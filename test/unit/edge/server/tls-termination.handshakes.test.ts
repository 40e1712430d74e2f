import { expect, test } from 'vitest';
import { Handshakes } from '../../../../src/edge/server/tls-termination.ts';

/** Handshakes that note by number what becomes of them. */
function room(max: number) {
  const handshakes = new Handshakes(max);
  const [begun, gone]: [number[], number[]] = [[], []];
  const enter = (number: number) => {
    const handshake = {
      begin: () => void begun.push(number),
      refuse: () => {
        gone.push(number);
        handshakes.leave(handshake);
      },
    };
    handshakes.enter(handshake);
    return handshake;
  };
  return { handshakes, begun, gone, enter };
}

const turn = () => new Promise(resolve => setImmediate(resolve));

test('handshakes begin in their order, no more than 8 in a turn of the event loop', async () => {
  const { begun, enter } = room(100);
  for (let number = 0; number < 20; number++) enter(number);
  expect(begun).toHaveLength(8);
  await turn();
  expect(begun).toHaveLength(16);
  await turn();
  expect(begun).toEqual(Array.from({ length: 20 }, (_, number) => number));
});

test('the oldest gives way to one too many', () => {
  const { handshakes, gone, enter } = room(2);
  const first = enter(1);
  for (const number of [2, 3, 4]) enter(number);
  expect(gone).toEqual([1, 2]);
  // It has given its room to another already.
  handshakes.leave(first);
  enter(5);
  expect(gone).toEqual([1, 2, 3]);
});

test('one that ended takes no room, and one that ended while it waited does not begin', async () => {
  const { handshakes, begun, gone, enter } = room(8);
  const entered = Array.from({ length: 9 }, (_, number) => enter(number));
  const waiting = entered[8];
  if (waiting !== undefined) handshakes.leave(waiting);
  await turn();
  expect(begun).toHaveLength(8);
  for (const handshake of entered) handshakes.leave(handshake);
  enter(9);
  await turn();
  for (let number = 10; number < 17; number++) enter(number);
  expect([begun[8], gone]).toEqual([9, []]);
  enter(17);
  expect(gone).toEqual([9]);
});
