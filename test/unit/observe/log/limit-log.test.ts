import { expect, test } from 'vitest';
import { Pseudonyms } from '../../../../src/observe/log/access-log.ts';
import { limitLog, makeLogger } from '../../../../src/observe/log/index.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

test('responses that do not tell what their requests cost have a line a minute for each bucket', () => {
  const lines: Record<string, unknown>[] = [];
  const clock = new FrozenClock();
  const logger = makeLogger('info', { write: line => void lines.push(JSON.parse(line)) });
  const log = limitLog(logger, new Pseudonyms(Buffer.alloc(32)), clock);
  const event = { bucket: 'b', field: 'x-usage' };
  for (const outcome of ['told', 'unknown', 'untold', 'wrong', 'untold'] as const)
    log.priced?.({ ...event, outcome });
  expect(lines.splice(0)).toMatchObject([
    { type: 'limit', level: 'warn', ...event, responses: 1, msg: expect.stringContaining('lack the field') },
    { ...event, responses: 1, msg: expect.stringContaining('not one whole number') },
  ]);
  clock.advance(60_000);
  log.priced?.({ ...event, outcome: 'untold' });
  expect(lines).toMatchObject([{ ...event, responses: 2 }]);
});
