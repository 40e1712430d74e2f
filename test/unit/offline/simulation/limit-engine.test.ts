import { expect, test } from 'vitest';
import { type CountedRequest, readPart } from '../../../../src/config/index.ts';
import { LimitEngine } from '../../../../src/offline/simulation/index.ts';
import { tempText } from '../../../support/temp.ts';
import { windowIn } from '../../limits/stores.ts';

const START = 1_790_000_000_000;

async function engineOf(text: string): Promise<LimitEngine> {
  const result = await readPart('limits', await tempText('limits.yaml', text), {});
  if (!result.ok) throw new Error(JSON.stringify(result.diagnostics));
  return new LimitEngine(result.limits, START);
}

const read = (channel: string, change: Partial<CountedRequest> = {}): CountedRequest => ({
  method: 'GET',
  host: '',
  path: `/v1/channels/${channel}/messages`,
  callerClass: 'user',
  caller: 'alice',
  claimed: null,
  consumes: 'all',
  ...change,
});

const LIMITS = `
global: { user: 6/1s }
buckets: { messages: { main: channel, user: 2/5s, resource: 3/10s } }
routes: { "GET /v1/channels/{channel}/messages": messages }
`;

test('windows open and close at the moments that the engine is told, slack included', async () => {
  const engine = await engineOf('buckets: { all: { user: 1/5s } }\nroutes: { "/**": all }\n');
  const at = (ms: number) => engine.decide(START + ms, read('1'))?.decision.admitted;
  expect([0, 4_979, 4_980, 9_979, 9_980].map(at)).toEqual([true, false, true, false, true]);
});

test('each main value has its own quota, and one resource limit for all callers', async () => {
  const engine = await engineOf(LIMITS);
  const roleOf = (caller: string, channel: string) => {
    const decision = engine.decide(START, read(channel, { caller }))?.decision;
    return decision?.admitted === true ? 'admitted' : decision?.role;
  };
  expect([roleOf('alice', '1'), roleOf('alice', '1'), roleOf('alice', '1')]).toEqual([
    'admitted',
    'admitted',
    'caller',
  ]);
  expect(roleOf('alice', '2')).toBe('admitted');
  expect([roleOf('bob', '1'), roleOf('bob', '1')]).toEqual(['admitted', 'resource']);
});

test('a request draws on those limits alone that its route lets it draw on', async () => {
  const engine = await engineOf(LIMITS);
  const setOf = (consumes: CountedRequest['consumes']) => {
    const consumption = engine.decide(START, read('1', { consumes }))?.consumption;
    return [consumption?.bucket?.name, consumption?.set.global?.units, consumption?.set.caller?.units];
  };
  expect(setOf('all')).toEqual(['messages', 6, 2]);
  expect(setOf('bucket')).toEqual(['messages', undefined, 2]);
  expect(setOf('global')).toEqual([undefined, 6, undefined]);
  expect(setOf('none')).toEqual([undefined, undefined, undefined]);
});

test('a request takes what its line costs of its bucket, and one of the global limit', async () => {
  const engine = await engineOf(
    LIMITS.replace('user: 2/5s', 'user: 7/5s').replace(': messages }', ': { bucket: messages, cost: 3 } }'),
  );
  const draw = () => engine.decide(START, read('1'));
  expect(draw()?.decision).toMatchObject({ admitted: true, remaining: 4 });
  expect(draw()?.decision).toMatchObject({ admitted: false, role: 'resource', remaining: 0 });
  expect(draw()?.consumption.cost).toBe(3);
});

test('a unit that is returned can be drawn again', async () => {
  const engine = await engineOf(LIMITS);
  const draw = (caller: string) => engine.decide(START, read('1', { caller }));
  const first = draw('alice');
  const limit = first?.consumption.set.resource;
  const window = first == null ? 0 : windowIn(first.decision, 'resource');
  draw('bob');
  draw('carol');
  expect(draw('dave')?.decision.admitted).toBe(false);
  if (limit === null || limit === undefined) throw new Error('there is no resource limit');
  engine.refund(START, { limit, part: '1', window, cost: 1, caller: 'alice' });
  expect(draw('dave')?.decision.admitted).toBe(true);
});

test('a main value that is no UTF-8 is decided by no limit', async () => {
  expect((await engineOf(LIMITS)).decide(START, read('%FF'))).toBeNull();
});

test('counters whose time is over are dropped, without a timer', async () => {
  const engine = await engineOf('buckets: { all: { user: 1/5s } }\nglobal: off\nroutes: { "/**": all }\n');
  for (let i = 0; i < 1_000; i++) engine.decide(START, read('1', { caller: `user ${i}` }));
  expect(engine.keys).toBe(1_000);
  engine.decide(START + 6_000, read('1'));
  expect(engine.keys).toBe(1);
});
