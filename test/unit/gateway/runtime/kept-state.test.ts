import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { alone, type Fact, thisMachine } from '../../../../src/core/index.ts';
import { openState } from '../../../../src/gateway/runtime/index.ts';
import { makeLogger } from '../../../../src/observe/index.ts';
import { tempFolder } from '../../../support/temp.ts';
import { inTime } from '../../../support/test-clock.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const clock = new FrozenClock();
const machine = { ...thisMachine, clock };

test('what only the threads of a process tell each other is not kept', async () => {
  const folder = await tempFolder();
  const open = () =>
    inTime(clock, openState({ folder, countersMs: null }, machine, makeLogger('silent', { write() {} })));
  const fact = { name: 'address', value: 0, forMs: 60_000 };
  /** What a process knows of two topics that keeps its state there, and posts that fact under both. */
  const start = async () => {
    const learnt: string[] = [];
    const state = await open();
    const part = alone(machine);
    if (state !== null) part.carry(state.facts);
    for (const topic of [part.topic<Fact>('shadow', 'process'), part.topic('light', 'service')]) {
      topic.join({ learn: ({ name }) => void learnt.push(name), everything: () => [fact] });
      topic.post(fact);
    }
    await state?.stop();
    return learnt;
  };
  expect([await start(), await start()]).toEqual([[], ['address']]);
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
  const facts = first?.facts;
  facts?.join('revocation', holding);
  facts?.post(fact);
  await first?.stop();

  const readOnly = Object.assign(new Error('read-only'), { code: 'EROFS' });
  const log: string[] = [];
  const second = await open({ ...thisMachine.files, rename: () => Promise.reject(readOnly) }, log);
  const learnt: string[] = [];
  const again = second?.facts;
  again?.join('revocation', { ...holding, learn: ({ name }) => void learnt.push(name) });
  again?.post(fact);
  await second?.stop();
  expect(learnt).toEqual(['a']);
  expect(second?.files).toMatchObject([{ file: 'state', failures: 1, fault: { cause: 'EROFS' } }]);
  expect(log).toEqual([
    'the state folder cannot be used: nothing is kept across restarts',
    'continues with the state from before it was stopped',
  ]);
  expect(await readdir(folder)).toEqual(['weir.state']);
});
