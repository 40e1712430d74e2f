import { beforeEach, describe, expect, test } from 'vitest';
import { Outgoing } from '../../../../../src/limits/redis/sharing/board.ts';
import { FrozenClock } from '../../frozen-clock.ts';

let outgoing: Outgoing;
const put = (value: number, name = 'x') => outgoing.put({ name, value, forMs: 1_000 });
const portion = () => outgoing.nextPortion(10);

beforeEach(() => {
  outgoing = new Outgoing(new FrozenClock());
});

describe('a withdrawal', () => {
  test('of a fact that Redis has is sent, with the duration 0', () => {
    put(5);
    portion();
    outgoing.sent();
    outgoing.withdraw('x', 5);
    expect([outgoing.size, portion()]).toEqual([1, ['x', 5, 0]]);
    outgoing.sent();
    expect(outgoing.size).toBe(0);
  });

  test('of a fact that was never sent leaves nothing to send', () => {
    put(5);
    put(6);
    outgoing.withdraw('x', 6);
    expect([outgoing.size, portion()]).toEqual([0, []]);
  });

  test('of a fact that is being sent follows it', () => {
    put(5);
    expect(portion()).toEqual(['x', 5, 1_000]);
    outgoing.withdraw('x', 5);
    outgoing.sent();
    expect(portion()).toEqual(['x', 5, 0]);
  });

  test('of a value put while another was being sent follows it as well', () => {
    put(5);
    portion();
    put(6);
    outgoing.withdraw('x', 6);
    outgoing.sent();
    expect(portion()).toEqual(['x', 6, 0]);
  });

  test('is not forgotten because the fact comes back and goes again', () => {
    outgoing.withdraw('x', 5);
    put(4);
    put(6);
    expect(portion()).toEqual(['x', 6, 1_000]);
    outgoing.sent();
    outgoing.withdraw('x', 6);
    put(7);
    outgoing.withdraw('x', 7);
    expect(portion()).toEqual(['x', 7, 0]);
  });

  test('comes after all that was put before it', () => {
    outgoing.withdraw('x', 1);
    put(9, 'everyone');
    outgoing.withdraw('x', 2);
    expect(portion()).toEqual(['everyone', 9, 1_000, 'x', 2, 0]);
  });
});
