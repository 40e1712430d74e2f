import { randomBytes } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../../src/config/index.ts';
import type * as core from '../../../src/core/index.ts';
import { alone, silent, systemClock, thisMachine } from '../../../src/core/index.ts';
import { Listeners, TicketKeys } from '../../../src/edge/server/index.ts';
import { Gateway, UnlistedProxies } from '../../../src/gateway/index.ts';
import { Limiting, Overload } from '../../../src/gateway/runtime/index.ts';
import { NONE_ELSEWHERE } from '../../../src/limits/index.ts';
import { expectError } from '../../support/error-object.ts';
import { writeGatewayConfig } from '../../support/gateway.ts';
import { ownBuffered } from '../../support/own-buffered.ts';
import { head } from '../../support/requests.ts';
import { header, openRaw } from '../../support/wire/index.ts';
import { FrozenClock } from '../limits/frozen-clock.ts';

const listener = silent<
  core.ExchangeListener &
    core.LimitListener &
    core.StoreListener &
    core.ConnectionListener &
    core.OverloadListener
>();

/** A gateway on real sockets whose event loop is as late as `late` says. */
async function listening() {
  const loaded = await loadConfig(await writeGatewayConfig({ upstreamPort: 1 }), { env: {}, generation: 1 });
  if (!loaded.ok) throw new Error('the configuration is wrong');
  const { snapshot } = loaded;
  const time = new FrozenClock();
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs, epochMs: () => nowMs };
  const overload = new Overload(250, clock, listener);
  const part = alone(thisMachine);
  const limiting = new Limiting(snapshot.limits, {
    ...{ clock: systemClock, randomBytes, limitKeys: 1_000, listener, storeListener: listener, part },
    inFlightElsewhere: NONE_ELSEWHERE,
  });
  const sent: string[] = [];
  const send = ({ target }: { target: string }) => {
    sent.push(target);
    return { abort: () => {} };
  };
  const gateway = new Gateway({
    ...{ clock: systemClock, randomBytes, limiting, overload, nextRequestId: () => 'id', listener, part },
    unlistedProxies: new UnlistedProxies(systemClock, listener),
    generation: {
      ...{
        snapshot,
        identity: null,
        transports: new Map([['api', { part: { transport: { send } } }]]) as never,
      },
    },
  });
  const listeners = new Listeners({
    ...{
      ...snapshot,
      ...thisMachine,
      clock: time,
      gateway,
      random: () => 0,
      connectionListener: listener,
      buffered: ownBuffered(),
      permits: part.permits,
      ticketKeys: new TicketKeys(part.memory, randomBytes, time.monotonicMs()),
    },
  });
  onTestFinished(() => listeners.destroy());
  const { http } = await listeners.listen();
  const turn = (ms: number) => {
    nowMs += ms;
    overload.tick();
  };
  return { client: await openRaw(http.port), sent, turn, time, late: (ms: number) => (nowMs += ms) };
}

test('a request that is shed gets a 503, and its connection serves the next one after a rest', async () => {
  const { client, sent, turn, time, late } = await listening();
  for (let n = 0; n < 8; n++) turn(350);
  late(200);
  const response = await client.ask(head('GET /shed'));
  expectError(response, 503, 14);
  expect(header(response, 'retry-after')).toBe('1');
  expect(header(response, 'connection')).toBe('keep-alive');
  await client.send(head('GET /served'));
  turn(50);
  await time.advanceUntil('it is served', () => sent.length > 0);
  expect(sent).toEqual(['/served']);
});

test('a request behind one that was shed is not read during the rest', async () => {
  const { client, sent, turn, late } = await listening();
  for (let n = 0; n < 8; n++) turn(350);
  late(200);
  await client.send(head('GET /shed') + head('GET /behind'));
  expectError(await client.answer(), 503, 14);
  turn(50);
  for (let n = 0; n < 20; n++) await new Promise(resolve => setImmediate(resolve));
  expect(sent).toEqual([]);
});
