import { expect, test } from 'vitest';
import { TurnWriter } from '../../../src/core/index.ts';
import { MemorySocket } from '../../support/memory-socket.ts';

/** Gathers text, and counts how often what it gathered was lent, and given back. */
class Gathered {
  text = '';
  lent = 0;
  givenBack = 0;
  writable = true;

  take(): Buffer {
    const bytes = Buffer.from(this.text);
    this.text = '';
    return bytes;
  }

  lend(): void {
    this.lent++;
  }

  giveBack(): void {
    this.givenBack++;
  }
}

const turn = () => new Promise(resolve => setImmediate(resolve));

function begun(written?: () => () => void) {
  const socket = new MemorySocket();
  const source = new Gathered();
  const writer = new TurnWriter(socket.asSocket, source, written);
  const gather = (text: string) => {
    source.text += text;
    writer.wake();
  };
  return { socket, source, writer, gather };
}

test('what a turn gathers leaves in one write at its end', async () => {
  const { socket, writer, gather } = begun();
  writer.open();
  gather('a');
  gather('b');
  expect(socket.written).toBe('');
  await turn();
  expect(socket.written).toBe('ab');
  gather('c');
  await turn();
  expect(socket.written).toBe('abc');
});

test('nothing is written before it is opened', async () => {
  const { socket, writer, gather } = begun();
  gather('a');
  await turn();
  expect(socket.written).toBe('');
  writer.open();
  expect(socket.written).toBe('a');
});

test('nothing is taken while the system takes no more, and all of it as soon as it does', async () => {
  const { socket, source, writer, gather } = begun();
  writer.open();
  socket.hold();
  gather('x'.repeat(100_000));
  await turn();
  expect(source).toMatchObject({ writable: false, lent: 1, givenBack: 0 });
  gather('b');
  await turn();
  expect(source.text).toBe('b');
  socket.release();
  await turn();
  expect(socket.written.length).toBe(100_001);
  expect(source).toMatchObject({ writable: true, lent: 1, givenBack: 1 });
});

test('the last bytes are written even if the system takes no more, and none behind them', async () => {
  const { socket, source, writer, gather } = begun();
  writer.open();
  socket.hold();
  gather('x'.repeat(100_000));
  await turn();
  gather('last');
  writer.finish();
  gather('late');
  socket.release();
  await turn();
  expect(socket.written.endsWith('xlast')).toBe(true);
  expect(source.text).toBe('late');
});

test('each write says when the system has taken its bytes', async () => {
  const taken: number[] = [];
  let writes = 0;
  const { socket, writer, gather } = begun(() => {
    const write = ++writes;
    return () => taken.push(write);
  });
  writer.open();
  socket.hold();
  gather('a');
  await turn();
  expect([writes, taken]).toEqual([1, []]);
  socket.release();
  await turn();
  expect(taken).toEqual([1]);
});
