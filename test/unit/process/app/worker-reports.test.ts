import { describe, expect, it } from 'vitest';
import { type WorkerReport, WorkerReports } from '../../../../src/process/app/index.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const NOTHING = { callers: [], unlisted: 0 };

/** A report of a worker that answered so many requests since the last one. */
function report(requests: number, more: Partial<WorkerReport> = {}): WorkerReport {
  const series: [string[], number][] = [
    [['/a', '200', 'forwarded', 'http1'], requests - 1],
    [['/b', '404', 'forwarded', 'http1'], 1],
  ];
  return {
    growth: {
      metrics: { counters: [['weir_requests_total', series]], histograms: [] },
      recent: {
        behindAddress: [],
        refused: NOTHING,
        nearLimit: NOTHING,
        kinds: [],
        upstreams: [],
      },
    },
    ...{ connections: 0, requestsInFlight: 0, loopDelayMs: null, state: null, levels: null },
    ...more,
  };
}

/** A report of a worker that was asked. */
function answer(more: Partial<NonNullable<WorkerReport['state']>>): WorkerReport {
  const nothing = { upstreamConnections: new Map(), endpoints: new Map(), unlistedProxies: [], inFlight: [] };
  return report(1, { state: { ...nothing, ...more } });
}

const silent = () => new Promise<WorkerReport>(() => {});

function made() {
  const clock = new FrozenClock();
  const reports = new WorkerReports(clock);
  const counted: unknown[] = [];
  reports.follow(growth => counted.push(growth));
  return { clock, reports, counted };
}

describe('what workers report', () => {
  it('adds up, and what each has counted outlives it', () => {
    const { clock, reports, counted } = made();
    const startedAtMs = clock.epochMs();
    const first = reports.started(1, silent);
    const second = reports.started(2, silent);
    first(report(5, { connections: 3, requestsInFlight: 2 }));
    first(report(2, { connections: 4, requestsInFlight: 1, loopDelayMs: 7 }));
    second(report(9, { connections: 10 }));
    expect([reports.connections, reports.requestsInFlight]).toEqual([14, 1]);
    reports.ended(1);
    expect([reports.connections, reports.requestsInFlight]).toEqual([10, 0]);
    const one = { worker: 1, replacements: 0, requests: 7 };
    const idle = { connections: 0, requestsInFlight: 0, loopDelayMs: null };
    expect(reports.views[0]).toEqual({ ...one, ...idle, isUp: false, startedAtMs: null });
    clock.advance(1_000);
    const third = reports.started(1, silent);
    third(report(1));
    // Sent before it died, and heard since.
    first(report(3, { connections: 100 }));
    expect(reports.views).toEqual([
      { ...one, ...idle, replacements: 1, requests: 11, isUp: true, startedAtMs: startedAtMs + 1_000 },
      { ...one, ...idle, worker: 2, requests: 9, connections: 10, isUp: true, startedAtMs },
    ]);
    expect(counted).toHaveLength(5);
  });

  it('is asked for at once, and a worker that does not answer shows what it told last', async () => {
    const { clock, reports } = made();
    const asked: string[] = [];
    reports.started(1, async wanted => {
      asked.push(wanted);
      return report(2);
    });
    const late = Promise.withResolvers<WorkerReport>();
    const second = reports.started(2, () => late.promise);
    reports.started(3, async () => Promise.reject(new Error('it has no configuration yet')));
    const requests = () => reports.views.map(view => view.requests);
    const up = () => reports.views.map(({ isUp }) => isUp);
    second(report(1));
    const refreshed = reports.refresh('scrape');
    await new Promise(setImmediate);
    clock.advance(500);
    await refreshed;
    expect([asked, requests(), up()]).toEqual([['scrape'], [2, 1, 0], [true, true, false]]);
    clock.advance(2_499);
    second(report(1));
    clock.advance(1);
    expect(up()).toEqual([false, true, false]);
    late.resolve(report(4));
    await late.promise;
    await reports.refresh('state');
    expect([asked, requests(), up()]).toEqual([
      ['scrape', 'state'],
      [4, 10, 0],
      [true, true, false],
    ]);
  });

  it('keeps the distributions of what is gone, and no other levels', async () => {
    const { reports } = made();
    const gauge = { name: 'nodejs_heap', help: 'Heap.', type: 'gauge', aggregator: 'sum' };
    const histogram = { ...gauge, name: 'nodejs_gc', type: 'histogram' };
    const levels = [gauge, histogram].map(metric => ({ ...metric, values: [{ value: 2, labels: {} }] }));
    for (let death = 0; death < 3; death++) {
      reports.started(1, silent)(report(1, { levels: levels as never }));
      reports.ended(1);
    }
    const [gone, ...others] = await reports.levels();
    expect(others).toEqual([]);
    expect(gone).toEqual([{ ...histogram, values: [{ value: 6, labels: {} }] }]);
  });

  it('names each unlisted proxy once, and adds up connections to upstreams', () => {
    const { reports } = made();
    const proxy = {
      address: '10.0.0.1',
      field: 'X-Forwarded-For',
      sinceMs: 1,
      message: 'It forwards.',
    } as const;
    for (const [worker, upstream] of [
      [1, 'a'],
      [2, 'b'],
    ] as const) {
      const upstreamConnections = new Map([[upstream, worker + 1]]);
      reports.started(worker, silent)(answer({ unlistedProxies: [proxy], upstreamConnections }));
    }
    // One that was not asked yet.
    reports.started(3, silent)(report(1));
    expect(reports.unlistedProxies).toEqual([proxy]);
    expect(reports.upstreamConnections(new Map([['a', 1]]))).toEqual(
      new Map([
        ['a', 3],
        ['b', 3],
      ]),
    );
  });
});

describe('an endpoint', () => {
  const endpoint = { name: 'a:80', outFor: null, why: null, weight: 1, connections: 2, inFlight: 1 };
  const state = { endpoints: [endpoint], allOut: false, lookupFault: null };
  const out = { ...endpoint, outFor: 'bad_answers', why: '503' } as const;
  const merged = (...each: (typeof state | { endpoints: (typeof out)[] })[]) => {
    const { reports } = made();
    for (const [at, told] of each.entries())
      reports.started(at + 1, silent)(answer({ endpoints: new Map([['api', { ...state, ...told }]]) }));
    return reports.endpoints(new Map([['api', state]])).get('api');
  };

  it('is shown as the main thread sees it before any worker has reported', () => {
    expect(merged()).toBe(state);
  });

  it('is out if it is for all workers', () => {
    const both = { ...out, connections: 4, inFlight: 2 };
    expect(merged({ endpoints: [out] }, { endpoints: [out] })?.endpoints).toEqual([both]);
  });

  it('is used if some workers use it, and says for how many it is out', () => {
    expect(merged(state, { endpoints: [out] }, state)?.endpoints).toEqual([
      { ...endpoint, why: 'out for 1 of 3 workers: 503', connections: 6, inFlight: 3 },
    ]);
  });
});
