import { expect, test } from 'vitest';
import { AwaitedBody } from '../../../../src/gateway/terminals/awaited-body.ts';
import { HandBody } from '../../../support/hand-body.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

test('a fault in a body that is read after a second ends its exchange, not the process', () => {
  const [clock, source, faults] = [new FrozenClock(), new HandBody(), [] as unknown[]];
  source.onStart = () => {
    throw new Error('a fault');
  };
  const body = new AwaitedBody(source, clock, act => {
    try {
      act();
    } catch (fault) {
      faults.push(fault);
    }
  });
  body.start({ chunk: () => true, end: () => {}, fail: () => {} });
  clock.advance(1_000);
  expect(faults).toEqual([new Error('a fault')]);
});
