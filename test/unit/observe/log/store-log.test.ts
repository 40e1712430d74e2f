import { expect, test } from 'vitest';
import { makeLogger, storeLog } from '../../../../src/observe/log/index.ts';

test('an outage of Redis tells each cause once: what keeps it away may not be what ended the connection', () => {
  const causes: unknown[] = [];
  const logger = makeLogger('info', { write: line => void causes.push(JSON.parse(line).cause ?? null) });
  const log = storeLog(logger);
  log.failed?.('timeout', 'no response within 50 ms');
  log.lost?.('local', 'the connection was lost');
  for (const cause of ['the connection was lost', 'WRONGPASS', 'WRONGPASS', 'the connection was lost'])
    log.failed?.('disconnected', cause);
  expect(causes.splice(0)).toEqual(['the connection was lost', 'WRONGPASS']);
  log.found?.(1_000);
  log.failed?.('error', 'OOM');
  log.lost?.('local', 'WRONGPASS');
  expect(causes.splice(0)).toEqual([null, 'WRONGPASS']);
  for (let i = 0; i < 100; i++) log.failed?.('error', `cause ${i}`);
  expect(causes.length).toBeLessThan(20);
});
