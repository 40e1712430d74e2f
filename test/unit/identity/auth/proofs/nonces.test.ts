import { expect, it } from 'vitest';
import { Nonces } from '../../../../../src/identity/auth/index.ts';

const clock = { ms: 1_795_262_400_000, epochMs: () => clock.ms };
const secretOf = (byte: number) => Buffer.alloc(32, byte);

it('gateways with one secret take the nonces of each other, and of no other', () => {
  const [one, other, foreign] = [1, 1, 2].map(byte => new Nonces(secretOf(byte), clock));
  const nonce = one?.fresh(60_000) ?? '';
  expect(other?.judge(nonce, 60_000)).toBe('good');
  expect(foreign?.judge(nonce, 60_000)).toBe('bad');
});

it('one that learns another secret still takes what it handed out, and no third', () => {
  const nonces = new Nonces(secretOf(1), clock);
  const own = nonces.fresh(60_000);
  nonces.use(secretOf(2));
  nonces.use(secretOf(2));
  expect(nonces.judge(own, 60_000)).toBe('good');
  const next = nonces.fresh(60_000);
  expect(next).not.toBe(own);
  expect(new Nonces(secretOf(2), clock).judge(next, 60_000)).toBe('good');
  nonces.use(secretOf(3));
  expect(nonces.judge(own, 60_000)).toBe('bad');
  expect(nonces.judge(next, 60_000)).toBe('good');
});

it('one from the future is none, but for clocks that differ a little', () => {
  const nonces = new Nonces(secretOf(1), clock);
  const nonce = nonces.fresh(60_000);
  clock.ms -= 30_000;
  expect(nonces.judge(nonce, 60_000)).toBe('good');
  clock.ms -= 1;
  expect(nonces.judge(nonce, 60_000)).toBe('bad');
});

it('a shorter life ends those that were handed out before', () => {
  const nonces = new Nonces(secretOf(1), clock);
  const nonce = nonces.fresh(3_600_000);
  clock.ms += 20_000;
  expect(nonces.judge(nonce, 3_600_000)).toBe('good');
  expect(nonces.judge(nonce, 30_000)).toBe('aging');
  expect(nonces.judge(nonce, 10_000)).toBe('bad');
});

it('says when clients first need one', () => {
  const nonces = new Nonces(secretOf(1), clock);
  let times = 0;
  nonces.onFirstUse = () => times++;
  expect(nonces.areUsed).toBe(false);
  nonces.fresh(60_000);
  nonces.fresh(60_000);
  expect([nonces.areUsed, times]).toEqual([true, 1]);
});
