import { expect, test } from 'vitest';
import { ResponseEnd } from '../../../../src/edge/server/http1-downstream.ts';
import { MemorySocket } from '../../../support/memory-socket.ts';

const turn = () => new Promise<void>(resolve => setImmediate(resolve));

function written() {
  const wire = new MemorySocket();
  wire.cork();
  wire.write('response');
  const seen = { ended: 0 };
  new ResponseEnd(wire.asSocket, () => seen.ended++).written();
  return { wire, seen };
}

test('an exchange ends with the turn in which its response leaves', async () => {
  const { wire, seen } = written();
  wire.uncork();
  expect(seen.ended).toBe(0);
  await turn();
  expect(seen.ended).toBe(1);
});

test('an exchange does not end as delivered while the client has yet to take the response', async () => {
  const { wire, seen } = written();
  await turn();
  expect(seen.ended).toBe(0);
  wire.uncork();
  await turn();
  expect(seen.ended).toBe(1);
});

test('an exchange whose connection is closed before the response has left does not end as delivered', async () => {
  const { wire, seen } = written();
  wire.destroy();
  await turn();
  await turn();
  expect(wire.written).toBe('');
  expect(seen.ended).toBe(0);
});
