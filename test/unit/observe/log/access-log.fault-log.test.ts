import { expect, test } from 'vitest';
import { GatewayError } from '../../../../src/core/index.ts';
import { FaultLog, makeLogger } from '../../../../src/observe/log/index.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';
import { exchangeRecord } from '../exchange-record.ts';

function room() {
  const lines: Record<string, unknown>[] = [];
  const clock = new FrozenClock();
  const log = new FaultLog(makeLogger('info', { write: line => void lines.push(JSON.parse(line)) }), clock);
  const fail = (upstream: string, cause: string) => {
    const { message, side, cap } = new GatewayError({ status: 502, side: 'upstream', message: 'It failed.' });
    log.finished(exchangeRecord({ status: 502, upstream, error: { message, side, cap, cause } }));
  };
  const told = () => lines.splice(0).map(({ upstream, cause, faults }) => [upstream, cause, faults]);
  const remove = (upstream: string) => log.challengeRemoved({ upstream, because: 'client_h2' });
  return { clock, fail, told, remove };
}

test('faults of an outage have a line for each kind at once, and one a second with their number', () => {
  const { clock, fail, told } = room();
  for (let i = 0; i < 1_000; i++) fail('api', 'connect ECONNREFUSED');
  fail('other', 'connect ECONNREFUSED');
  fail('api', 'read ECONNRESET');
  expect(told()).toEqual([
    ['api', 'connect ECONNREFUSED', 1],
    ['other', 'connect ECONNREFUSED', 1],
    ['api', 'read ECONNRESET', 1],
  ]);
  clock.advance(999);
  fail('api', 'connect ECONNREFUSED');
  expect(told()).toEqual([]);
  clock.advance(1);
  fail('api', 'connect ECONNREFUSED');
  expect(told()).toEqual([['api', 'connect ECONNREFUSED', 1_001]]);
});

test('a fault that comes alone counts none of an outage that is over', () => {
  const { clock, fail, told } = room();
  for (let i = 0; i < 1_000; i++) fail('api', 'connect ECONNREFUSED');
  told();
  clock.advance(3_600_000);
  fail('api', 'read ECONNRESET');
  expect(told()).toEqual([['api', 'read ECONNRESET', 1]]);
});

test('causes that never repeat have at most 20 lines a second', () => {
  const { clock, fail, told } = room();
  for (let i = 0; i < 1_000; i++) fail('api', `cause ${i}`);
  expect(told()).toHaveLength(20);
  clock.advance(1_000);
  fail('api', 'cause 999');
  fail('api', 'another');
  expect(told()).toEqual([
    ['api', 'cause 999', 2],
    ['api', 'another', 1],
  ]);
});

test('causes that never repeat take no more room: those of a while ago are counted anew', () => {
  const { clock, fail, told } = room();
  for (const causes of [['kept'], ['kept'], Array.from({ length: 2_000 }, (_, i) => `cause ${i}`)])
    for (const cause of causes) fail('api', cause);
  told();
  clock.advance(1_000);
  fail('api', 'kept');
  fail('api', 'cause 1999');
  expect(told()).toEqual([
    ['api', 'kept', 1],
    ['api', 'cause 1999', 2],
  ]);
});

test('removed challenges have a line an hour for each upstream', () => {
  const { clock, told, remove } = room();
  const upstreams = () => told().map(([upstream]) => upstream);
  for (const upstream of ['api', 'api', 'files']) remove(upstream);
  expect(upstreams()).toEqual(['api', 'files']);
  clock.advance(3_599_999);
  remove('api');
  expect(upstreams()).toEqual([]);
  clock.advance(1);
  remove('api');
  expect(upstreams()).toEqual(['api']);
});
