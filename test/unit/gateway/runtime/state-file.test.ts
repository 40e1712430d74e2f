import { join } from 'node:path';
import { expect, test } from 'vitest';
import { thisMachine } from '../../../../src/core/index.ts';
import { factsIn, linesOf } from '../../../../src/gateway/runtime/state-file.ts';
import { WholeFile } from '../../../../src/gateway/runtime/whole-file.ts';
import { tempFolder } from '../../../support/temp.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const clock = new FrozenClock(1e12);
const system = { ...thisMachine, clock };
const stateFile = async () => new WholeFile(join(await tempFolder(), 'weir.state'), 'state', system);

test('facts grow older while the gateway is stopped, and what has ended is left out', async () => {
  const file = await stateFile();
  const fact = (name: string, forMs: number) => ({ name, value: 7, forMs });
  await file.write({}, linesOf([fact('short', 60_000), fact('exact', 90_000), fact('long', 100_000)]));
  clock.advance(90_000);
  expect(await factsIn(file)).toEqual([fact('long', 10_000)]);
});

test('lines that are no facts are left out', async () => {
  const file = await stateFile();
  const lines = ['null', '["a","1",9]', '["a",1.5,9]', '["a",1,null]', '[1,1,9]', '{}', '["b",1,9]', ''];
  await file.write({}, [lines.join('\n')]);
  expect(await factsIn(file)).toEqual([{ name: 'b', value: 1, forMs: 9 }]);
});
