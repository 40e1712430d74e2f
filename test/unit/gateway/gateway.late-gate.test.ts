import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/index.ts';
import { NO_NAMES, systemClock } from '../../../src/core/index.ts';
import {
  ConnectionMemory,
  type Downstream,
  errors,
  Gateway,
  UnlistedProxies,
} from '../../../src/gateway/index.ts';
import { UNLIMITED } from '../../../src/limits/index.ts';
import { Limiting, Overload } from '../../../src/runtime/index.ts';
import { writeGatewayConfig } from '../../support/gateway.ts';

const silent = () => {};
const silentLimits = {
  ...{ decided: silent, held: silent, shadowRefused: silent },
  ...{ shadowRestricted: silent, invalid: silent, refusedByRestriction: silent },
  ...{ restricted: silent, prolonged: silent, released: silent, evicted: silent },
};
const silentStore = {
  decidedBy: silent,
  failed: silent,
  lost: silent,
  found: silent,
  behind: silent,
  caughtUp: silent,
  shareFailed: silent,
  subscribed: silent,
  beat: silent,
};

/** A gateway whose limits are decided when `decide` is called, and what it sends to its upstream. */
async function slowlyLimited() {
  const path = await writeGatewayConfig({ upstreamPort: 1 });
  const loaded = await loadConfig(path, { env: {}, generation: 1 });
  if (!loaded.ok) throw new Error('the configuration is wrong');
  const { snapshot } = loaded;
  const limiting = new Limiting(snapshot.limits, {
    ...{ clock: systemClock, randomBytes, limitKeys: 1_000 },
    ...{ listener: silentLimits, storeListener: silentStore },
  });
  const decided = Promise.withResolvers<unknown>();
  Object.assign(limiting, { store: { decide: () => decided.promise } });
  const sent: string[] = [];
  const send = ({ target }: { target: string }) => sent.push(target);
  const gateway = new Gateway({
    ...{ clock: systemClock, randomBytes, limiting, nextRequestId: () => 'id' },
    overload: new Overload(null, systemClock, { began: () => {}, ended: () => {} }),
    unlistedProxies: new UnlistedProxies(systemClock, { unlistedProxy: () => {} }),
    listener: {
      switched: () => {},
      lasting: () => {},
      finished: () => {},
      untrustedForwarding: () => {},
    },
    generation: {
      snapshot,
      identity: null,
      transports: new Map([['api', { transport: { send } }]]) as never,
    },
  });
  const decide = async (more = {}) => {
    decided.resolve({
      ...UNLIMITED,
      ...more,
    });
    await new Promise(resolve => setImmediate(resolve));
  };
  return { gateway, decide, sent };
}

/** A request whose response the client is slow to take: it is never over. */
function request(responses: number[]): Downstream {
  const nothing = () => {};
  return {
    ...{
      method: 'GET',
      target: '/a',
      protocol: 'http1',
      version: '1.1',
      fields: ['Host', 'a'],
      neverIndexed: NO_NAMES,
      scheme: 'http',
      clientCertificate: null,
      redirects: false,
      onlyCalls: false,
      peer: '192.0.2.1',
      framing: { bodyLength: 0, expectation: 'none', persistent: true, upgrade: 'none', hopFields: [] },
    },
    ...{ memory: new ConnectionMemory(true), bytesReceived: 0, info: nothing, head: nothing, end: nothing },
    switchProtocols: () => false,
    ...{ neverIndex: nothing, keeps: nothing },
    ...{ abort: () => responses.push(0), write: () => true },
    body: () => {
      throw new Error('there is no body');
    },
    answer: status => responses.push(status),
  };
}

test('a request that was answered while a gate waited is not sent to the upstream, nor answered again', async () => {
  const { gateway, decide, sent } = await slowlyLimited();
  const responses: number[] = [];
  const exchange = gateway.accept(request(responses));
  gateway.run(exchange);
  gateway.fault(exchange, errors.badRequest('of something'));
  await decide();
  expect(responses).toEqual([400]);
  expect(sent).toEqual([]);
});

test('a request that waited for a gate is sent to the upstream', async () => {
  const { gateway, decide, sent } = await slowlyLimited();
  const responses: number[] = [];
  gateway.run(gateway.accept(request(responses)));
  await decide();
  expect(sent).toEqual(['/a']);
  expect(responses).toEqual([]);
});

test('a request that left or was answered while a gate waited has returned its permit once', async () => {
  const { gateway, decide } = await slowlyLimited();
  const [left, answered, stays] = [
    gateway.accept(request([])),
    gateway.accept(request([])),
    gateway.accept(request([])),
  ] as const;
  for (const exchange of [left, answered, stays]) gateway.run(exchange);
  expect(gateway.inFlightTo('api')).toBe(3);
  gateway.over(left, false);
  gateway.fault(answered, errors.badRequest('of something'));
  expect(gateway.inFlightTo('api')).toBe(1);
  gateway.over(answered, true);
  await decide();
  expect(gateway.inFlightTo('api')).toBe(1);
  gateway.over(stays, true);
  expect(gateway.inFlightTo('api')).toBe(0);
});

test('a request refused by limits holds no permit, however slowly its client reads the response', async () => {
  const { gateway, decide } = await slowlyLimited();
  const responses: number[] = [];
  const exchange = gateway.accept(request(responses));
  gateway.run(exchange);
  await decide({ admitted: false, role: 'global', retryAfterMs: 1_000 });
  expect(responses).toEqual([429]);
  expect(gateway.inFlightTo('api')).toBe(0);
  gateway.over(exchange, true);
  expect(gateway.inFlightTo('api')).toBe(0);
});
