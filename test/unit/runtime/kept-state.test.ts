import { expect, test } from 'vitest';
import { type FactTopic, thisMachine } from '../../../src/core/index.ts';
import { makeLogger } from '../../../src/observe/index.ts';
import { openState } from '../../../src/runtime/index.ts';
import { tempFolder } from '../../support/temp.ts';

test('what only the threads of a process tell each other is passed on as such, and not kept', async () => {
  const folder = await tempFolder();
  const joined: FactTopic[] = [];
  const shared = {
    outgoing: 0,
    post() {},
    withdraw() {},
    join: (_: string, holder: FactTopic) => void joined.push(holder),
  };
  const state = await openState(
    { folder, countersMs: null },
    thisMachine,
    makeLogger('silent', { write() {} }),
  );
  const facts = state?.keep(shared);
  const fact = { name: 'shadow:address', value: 0, forMs: 60_000 };
  facts?.join('shadow', { isOfProcess: true, learn() {}, everything: () => [fact] });
  expect(joined).toMatchObject([{ isOfProcess: true }]);
  facts?.post(fact);
  await state?.stop();
  const kept: string[] = [];
  const again = await openState(
    { folder, countersMs: null },
    thisMachine,
    makeLogger('silent', { write() {} }),
  );
  again?.keep(null).join('shadow', { learn: ({ name }) => void kept.push(name), everything: () => [] });
  await again?.stop();
  expect(kept).toEqual([]);
});
