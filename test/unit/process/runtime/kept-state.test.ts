import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { type FactTopic, thisMachine } from '../../../../src/core/index.ts';
import { makeLogger } from '../../../../src/observe/index.ts';
import { openState } from '../../../../src/process/runtime/index.ts';
import { tempFolder } from '../../../support/temp.ts';
import { inTime } from '../../../support/test-clock.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const clock = new FrozenClock();
const machine = { ...thisMachine, clock };

test('what only the threads of a process tell each other is passed on as such, and not kept', async () => {
  const folder = await tempFolder();
  const joined: FactTopic[] = [];
  const shared = {
    outgoing: 0,
    post() {},
    withdraw() {},
    join: (_: string, holder: FactTopic) => void joined.push(holder),
  };
  const open = () =>
    inTime(clock, openState({ folder, countersMs: null }, machine, makeLogger('silent', { write() {} })));
  const state = await open();
  const facts = state?.keep(shared);
  const fact = { name: 'shadow:address', value: 0, forMs: 60_000 };
  facts?.join('shadow', { isOfProcess: true, learn() {}, everything: () => [fact] });
  expect(joined).toMatchObject([{ isOfProcess: true }]);
  facts?.post(fact);
  await state?.stop();
  const kept: string[] = [];
  const again = await open();
  again?.keep(null).join('shadow', { learn: ({ name }) => void kept.push(name), everything: () => [] });
  await again?.stop();
  expect(kept).toEqual([]);
});

test('a folder that cannot be written at the start is read, and not written later', async () => {
  const folder = await tempFolder();
  const fact = { name: 'revocation:a', value: 1, forMs: 60_000 };
  const open = (files = thisMachine.files, log: string[] = []) =>
    inTime(
      clock,
      openState(
        { folder, countersMs: 60_000 },
        { ...machine, files },
        makeLogger('info', { write: line => void log.push(JSON.parse(line).msg) }),
      ),
    );
  const holding = { learn() {}, everything: () => [fact] };
  const first = await open();
  const facts = first?.keep(null);
  facts?.join('revocation', holding);
  facts?.post(fact);
  await first?.stop();

  const readOnly = Object.assign(new Error('read-only'), { code: 'EROFS' });
  const log: string[] = [];
  const second = await open({ ...thisMachine.files, rename: () => Promise.reject(readOnly) }, log);
  const learnt: string[] = [];
  const again = second?.keep(null);
  again?.join('revocation', { ...holding, learn: ({ name }) => void learnt.push(name) });
  again?.post(fact);
  await second?.stop();
  expect([learnt, second?.isWritten]).toEqual([['a'], false]);
  expect(log).toEqual([
    'the state folder cannot be used: nothing is kept across restarts',
    'continues with the state from before it was stopped',
  ]);
  expect(await readdir(folder)).toEqual(['weir.state']);
});
