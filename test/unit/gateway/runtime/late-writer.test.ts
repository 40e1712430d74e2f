import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { LateWriter } from '../../../../src/gateway/runtime/late-writer.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

/** A file whose writes end when the test says so. */
function begin() {
  const clock = new FrozenClock();
  const faults: (string | null)[] = [];
  const writes: { readonly end: (bytes: number) => Promise<void> }[] = [];
  const write = () => {
    const { promise, resolve } = Promise.withResolvers<number>();
    const end = async (bytes: number) => {
      resolve(bytes);
      await turn();
    };
    writes.push({ end });
    return promise;
  };
  const writer = new LateWriter({ clock, write, onFault: cause => faults.push(cause) });
  return { clock, faults, writes, writer };
}

describe('a file that is written late', () => {
  it('is written soon again where a small one took long: the disk was slow', async () => {
    const { clock, writes, writer } = begin();
    writer.noteChange();
    clock.advance(250);
    writer.noteChange();
    clock.advance(300);
    await writes[0]?.end(100);
    clock.advance(249);
    expect(writes).toHaveLength(1);
    clock.advance(1);
    expect(writes).toHaveLength(2);
  });

  it('rests nine times as long as a large one took', async () => {
    const { clock, writes, writer } = begin();
    writer.noteChange();
    clock.advance(250);
    writer.noteChange();
    clock.advance(300);
    await writes[0]?.end(2_000_000);
    clock.advance(2_699);
    expect(writes).toHaveLength(1);
    clock.advance(1);
    expect(writes).toHaveLength(2);
  });

  it('is written before the end, and is said to be out of date if that takes too long', async () => {
    const { clock, faults, writes, writer } = begin();
    writer.noteChange();
    const stopped = writer.stop();
    await turn();
    expect(writes).toHaveLength(1);
    clock.advance(5_000);
    await stopped;
    expect(faults).toEqual(['it took more than 5000 ms at the end']);
  });

  it('says nothing at an end in time', async () => {
    const { faults, writes, writer } = begin();
    writer.noteChange();
    const stopped = writer.stop();
    await turn();
    await writes[0]?.end(100);
    await stopped;
    expect(faults).toEqual([]);
  });
});
