import { expect, test } from 'vitest';
import { fanOut, type Methods } from '../../../src/observe/fan-out.ts';

interface Listener {
  began(): void;
  ended(status: number, cause: string | null, retried: boolean): void;
}

const METHODS: Methods<Listener> = { began: true, ended: true };

class Recorder {
  readonly heard: unknown[] = [];
  ended(...args: readonly unknown[]): void {
    this.heard.push(args);
  }
}

test('a call reaches every listener that has the method, in the order given and with all arguments', () => {
  const order: string[] = [];
  const [first, last] = [new Recorder(), new Recorder()];
  const all = fanOut(METHODS, [
    first,
    { ended: () => order.push('second') },
    last,
    { began: () => order.push('began') },
  ]);
  all.began();
  all.ended(503, 'full', true);
  all.ended(200, null, false);
  expect(order).toEqual(['began', 'second', 'second']);
  const heard = [
    [503, 'full', true],
    [200, null, false],
  ];
  expect([first.heard, last.heard]).toEqual([heard, heard]);
});

test('without listeners every method can be called', () => {
  const nobody = fanOut(METHODS, []);
  expect(() => {
    nobody.began();
    nobody.ended(200, null, false);
  }).not.toThrow();
});

test.each([1, 2, 3, 4, 5, 6])('of %i listeners each hears a call once, in the order given', count => {
  const numbers = Array.from({ length: count }, (_, n) => n);
  const heard: number[] = [];
  fanOut(
    METHODS,
    numbers.map(n => ({ began: () => heard.push(n) })),
  ).began();
  expect(heard).toEqual(numbers);
});
