import { expect, test } from 'vitest';
import { DefaultRefusals } from '../../../../src/gateway/runtime/default-refusals.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';
import { mainPartOf, snapshotOf } from '../../process/workers/thread-parts.ts';

async function noticed(limits: string) {
  const reported: unknown[] = [];
  const clock = new FrozenClock();
  const defaults = new DefaultRefusals(mainPartOf(clock), clock, {
    warned: line => reported.push(line['class']),
  });
  const snapshot = await snapshotOf(limits);
  return { defaults, snapshot, classes: () => reported };
}

test('the first refusal of each class whose global limit no file names is reported, once', async () => {
  const { defaults, snapshot, classes } = await noticed('global: { user: 50/1s }\n');
  for (const name of ['user', 'partner', 'address', 'address', 'bot']) defaults.refused(name, snapshot);
  expect(classes()).toEqual(['address', 'bot']);
  expect(defaults.reports(snapshot).map(({ message }) => message)).toEqual(
    ['address', 'bot'].map(
      key =>
        `the global limit of 50/1s refused a request, and no limits file names it: write "global: { ${key}: 500/10s }" into limits.yaml, or what your clients need at once`,
    ),
  );
});

test('what a later configuration names is no longer shown', async () => {
  const { defaults, snapshot } = await noticed('invalid_requests: off\n');
  defaults.refused('address', snapshot);
  expect(defaults.reports(snapshot)).toHaveLength(1);
  expect(defaults.reports(await snapshotOf('global: { address: 50/1s }\n'))).toEqual([]);
});
