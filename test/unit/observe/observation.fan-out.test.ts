import { expect, test } from 'vitest';
import { fanOut } from '../../../src/observe/observation.ts';

interface Listener {
  began(): void;
  ended(status: number, cause: string | null, retried: boolean): void;
}

const expectNone = (_method: string, fault: unknown) => expect.fail(String(fault));

class Recorder {
  readonly heard: unknown[] = [];
  ended(...args: readonly unknown[]): void {
    this.heard.push(args);
  }
}

test('a call reaches every listener that has the method, in the order given and with all arguments', () => {
  const order: string[] = [];
  const [first, last] = [new Recorder(), new Recorder()];
  const all = fanOut<Listener>(
    [first, { ended: () => order.push('second') }, last, { began: () => order.push('began') }],
    expectNone,
  );
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
  const nobody = fanOut<Listener>([], expectNone);
  expect(() => {
    nobody.began();
    nobody.ended(200, null, false);
  }).not.toThrow();
});

test.each([1, 2, 3, 4, 5, 6])('of %i listeners each hears a call once, in the order given', count => {
  const numbers = Array.from({ length: count }, (_, n) => n);
  const heard: number[] = [];
  fanOut<Listener>(
    numbers.map(n => ({ began: () => heard.push(n) })),
    expectNone,
  ).began();
  expect(heard).toEqual(numbers);
});

test.each([0, 1, 2, 3, 4])(
  'of five listeners one that throws, number %i, concerns neither the others nor the caller',
  thrower => {
    const heard: number[] = [];
    const faults: unknown[] = [];
    const bug = new TypeError('a bug');
    const listeners = [0, 1, 2, 3, 4].map(n => ({
      began: () => {
        if (n === thrower) throw bug;
        heard.push(n);
      },
    }));
    const all = fanOut<Listener>(listeners, (method, fault) => faults.push([method, fault]));
    all.began();
    all.began();
    const others = [0, 1, 2, 3, 4].filter(n => n !== thrower);
    expect(heard).toEqual([...others, ...others]);
    expect(faults).toEqual([
      ['began', bug],
      ['began', bug],
    ]);
  },
);
