import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ExchangeRecord } from '../../../src/core/index.ts';
import { type LoggingOptions, makeLogger, Observation } from '../../../src/observe/index.ts';
import { played } from '../../support/runs.ts';
import { FrozenClock } from '../limits/frozen-clock.ts';
import { exchangeRecord } from './exchange-record.ts';

const OUTCOMES = ['admitted', 'caller', 'global'] as const;
const LABELS = {
  routes: [
    {
      ...{ route: '/things/{id}', upstream: 'api' },
      protocols: ['http1' as const],
      endings: [['200', 'forwarded'] as const],
    },
  ],
  buckets: [
    {
      bucket: 'things',
      callerClass: 'user',
      outcomes: OUTCOMES.map(each => [each, ''] as const),
      periods: [''],
      inShadow: [],
      isPriced: false,
    },
  ],
  ...{ upstreams: ['api'], webSocketUpstreams: ['api'], tlsListeners: ['http'], providers: [null] },
  ...{
    introspects: false,
    refreshes: false,
    signsOut: false,
    dpop: false,
    notices: [],
    routeDurations: true,
  },
};
const LOGGING: LoggingOptions = {
  ...{ level: 'info', access: false, pseudonymKey: null },
  paths: { rewrite: path => path },
};

function thread(
  clock: FrozenClock,
  isWorker: boolean,

  lines: string[] = [],
): Observation {
  const observation = new Observation({
    ...{
      clock,
      instance: 'instance',
      pseudonymKey: randomBytes(32),
      logging: LOGGING,
      labels: LABELS,
      sharesStore: true,
      reloadRecord: {},
      spans: null,
    },
    log: makeLogger('info', { write: line => void lines.push(line) }),
    isWorker,
  });
  observation.read('weir_client_connections', () => 3);
  observation.read('weir_buffered_bytes', () => 4_096);
  observation.read('weir_upstream_connections', () => [[{ upstream: 'api' }, 2]]);
  observation.read('weir_limit_keys', () => 5);
  observation.read('weir_limit_caller_overflows_total', () => 2);
  return observation;
}

/** What the gateway itself shows. The order of series says nothing. */
async function shown(observation: Observation, workers: readonly Observation[] = []): Promise<string[]> {
  const { text } = await observation.scrape(await Promise.all(workers.map(worker => worker.levels())));
  return text
    .split('\n')
    .filter(line => /^(# HELP )?weir_/.test(line))
    .sort();
}

/** What the status page shows. */
function noted({ recent: { callers, decisions, errors } }: Observation) {
  return {
    refused: callers.refused,
    nearLimit: callers.nearLimit,
    errors: errors.list,
    ofUpstream: errors.ofUpstream('api'),
    decisions: decisions.of('things', 'user'),
  };
}

// Parts of a second that add up exactly in any order.
const durationMs = fc.constantFrom(0, 125, 250, 1_000, 64_000);
const record = fc.record<Partial<ExchangeRecord>>({
  durationMs,
  upstreamMs: fc.oneof(fc.constant(null), durationMs),
  status: fc.constantFrom(0, 200, 299, 404, 502),
  upstream: fc.constantFrom(null, 'api'),
  route: fc.constantFrom(null, '/things/{id}', '__proto__'),
  bytesSent: fc.nat(5_000),
  error: fc.constantFrom(null, { message: 'No.', side: 'upstream', cap: null, cause: 'it is away' } as const),
});
const decision = fc.record({
  bucket: fc.constantFrom(null, 'things'),
  caller: fc.constantFrom('user:a', 'user:b', 'user:c'),
  outcome: fc.constantFrom(...OUTCOMES),
  period: fc.constantFrom('', 'day'),
  nearLimit: fc.boolean(),
});
const event = fc.oneof(
  record.map(more => (on: Observation) => {
    on.exchanges.finished(exchangeRecord(more));
  }),
  decision.map(made => (on: Observation) => on.limits.decided({ callerClass: 'user', ...made })),
  fc.constant((on: Observation) => on.connections.handshakeEnded('http', 'timeout')),
  fc.constant((on: Observation) => on.identityOf(null).tokenRefused('expired', 'exp')),
  fc.constant((on: Observation) => on.store.decidedBy('redis')),
);
const step = fc.record({
  event,
  at: fc.nat(1),
  afterMs: fc.integer({ min: 1, max: 5_000 }),
  reports: fc.boolean(),
});

test('what several threads counted and noted is shown as if one had', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async steps => {
      const clock = new FrozenClock();
      const [alone, main] = [thread(clock, false), thread(clock, false)];
      const workers = [thread(clock, true), thread(clock, true)];
      const report = (worker: Observation) => main.add(structuredClone(worker.take()));
      for (const { event, at, afterMs, reports } of steps) {
        clock.advance(afterMs);
        event(alone);
        for (const worker of workers.slice(at, at + 1)) {
          event(worker);
          if (reports) report(worker);
        }
      }
      for (const worker of workers) report(worker);
      expect(await shown(main, workers)).toEqual(await shown(alone));
      expect(noted(main)).toEqual(noted(alone));
    }),
    played(50),
  );
});

test('a worker leaves to the main thread what all threads learn', async () => {
  const clock = new FrozenClock();
  const lines: string[] = [];
  const worker = thread(clock, true, lines);
  worker.reloads.unchanged();
  worker.identityOf(null).keySetFailed('it is away');
  worker.upstreams.lookupFailed('api', 'api.internal', 'it is away');
  expect(lines).toEqual([]);
  expect(worker.take()).toEqual(thread(clock, true).take());
  worker.limits.held('admitted');
  expect(worker.take().metrics.counters).toEqual([['weir_limit_held_total', [[['admitted'], 1]]]]);
});
