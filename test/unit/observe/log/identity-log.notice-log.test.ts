import { expect, test } from 'vitest';
import { noticeLog } from '../../../../src/observe/log/identity-log.ts';
import { makeLogger } from '../../../../src/observe/log/index.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

test('a logout that reached no token is said once a minute, with what to change', () => {
  const lines: Record<string, unknown>[] = [];
  const clock = new FrozenClock();
  const log = noticeLog(makeLogger('info', { write: line => void lines.push(JSON.parse(line)) }), clock);
  const idle = { kind: 'back_channel_logout', flaw: null, claim: null, notBeforeS: null } as const;
  for (let i = 0; i < 3; i += 1) log.noticeReceived({ ...idle, outcome: 'reached_none' });
  log.noticeReceived({ ...idle, outcome: 'accepted' });
  expect(lines).toEqual([
    expect.objectContaining({ type: 'notice', level: 'warn', outcome: 'reached_none', notices: 1 }),
  ]);
  expect(lines[0]?.msg).toContain('Have it send sub as well, or add sid to access tokens');
});

test('a not-before mark that is taken back is not logged as one from 1970', () => {
  const lines: Record<string, unknown>[] = [];
  const log = noticeLog(
    makeLogger('info', { write: line => void lines.push(JSON.parse(line)) }),
    new FrozenClock(),
  );
  const push = { kind: 'not_before_push', outcome: 'accepted', flaw: null, claim: null } as const;
  log.noticeReceived({ ...push, notBeforeS: 1_790_000_000 });
  log.noticeReceived({ ...push, notBeforeS: 0 });
  expect(lines.map(({ msg, notBefore }) => [msg, notBefore])).toEqual([
    ['the provider moved the not-before mark: older tokens are refused', '2026-09-21T14:13:20.000Z'],
    ['the provider withdrew its not-before mark: it no longer refuses older tokens', undefined],
  ]);
});
