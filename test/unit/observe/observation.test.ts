import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { type LoggingOptions, makeLogger, Observation } from '../../../src/observe/index.ts';
import { FrozenClock } from '../limits/frozen-clock.ts';

const LABELS = {
  ...{ routes: [], upstreams: [], webSocketUpstreams: [], buckets: [], tlsListeners: [], providers: null },
  ...{
    introspects: false,
    refreshes: false,
    signsOut: false,
    dpop: false,
    notices: [],
    routeDurations: false,
  },
};
const LOGGING: LoggingOptions = {
  level: 'info',
  access: true,
  pseudonymKey: null,
  paths: { rewrite: path => path },
};

/** All listeners of a gateway, each with a part that throws whatever it is told. */
function newObservation(lines: string[]) {
  const throwing = new Proxy(
    {},
    {
      get: () => () => {
        throw new TypeError('a bug');
      },
    },
  );
  const observation = new Observation({
    clock: new FrozenClock(),
    instance: 'instance',
    pseudonymKey: randomBytes(32),
    log: makeLogger('info', { write: line => void lines.push(line) }),
    logging: LOGGING,
    labels: LABELS,
    sharesStore: true,
    reloadRecord: throwing,
    spans: Object.assign(throwing, { lost: [] }),
  });
  const { exchanges, connections, limits, store, overload, reloads, warnings, notices, admin } = observation;
  const identity = observation.identityOf(null);
  return { exchanges, connections, limits, store, overload, reloads, warnings, notices, admin, identity };
}

/** Every call that a part of the gateway can make to those that observe it. */
const CALLS = Object.entries(newObservation([])).flatMap(([name, listener]) =>
  Object.keys(listener).map(method => [name, method] as const),
);

test('there are calls of every kind', () => {
  expect(new Set(CALLS.map(([name]) => name)).size).toBe(10);
  expect(CALLS.length).toBeGreaterThan(40);
});

test.each(CALLS)('%s.%s never throws, whatever those who hear it do', (name, method) => {
  const lines: string[] = [];
  const listener = newObservation(lines)[name as keyof ReturnType<typeof newObservation>];
  const call = Reflect.get(listener, method);
  // Metrics and logs cannot read these: most of them throw.
  for (const argument of [undefined, null, 0, 'x', {}, { error: {}, cause: { message: Symbol('x') } }])
    expect(() => call(argument, argument, argument)).not.toThrow();
});

test('a fault of one is logged with its stack, and once a minute', () => {
  const lines: string[] = [];
  const { exchanges } = newObservation(lines);
  for (let i = 0; i < 100; i++) exchanges.switched('api');
  const faults = lines.map(line => JSON.parse(line)).filter(({ type }) => type === 'fault');
  expect(faults).toEqual([
    expect.objectContaining({
      side: 'gateway',
      method: 'switched',
      faults: 1,
      cause: expect.stringMatching(/^TypeError: a bug\n +at /),
    }),
  ]);
});
