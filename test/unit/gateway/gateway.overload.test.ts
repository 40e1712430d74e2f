import { randomBytes } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { alone, silent, thisMachine } from '../../../src/core/index.ts';
import { Listeners, TicketKeys } from '../../../src/edge/server/index.ts';
import { bareGateway, silence } from '../../support/bare-gateway.ts';
import { expectError } from '../../support/error-object.ts';
import { ownBuffered } from '../../support/own-buffered.ts';
import { head } from '../../support/requests.ts';
import { header, openRaw } from '../../support/wire/index.ts';
import { FrozenClock } from '../limits/frozen-clock.ts';

/** A gateway on real sockets that has fallen behind: it sheds what it reads until its next turn. */
async function behind() {
  const listen = { http: '127.0.0.1:0', admin: '127.0.0.1:0' };
  const { gateway, snapshot, overload, clock, requests } = await bareGateway(
    {},
    { config: { listen }, service: silence },
  );
  const time = new FrozenClock();
  const { permits, memory } = alone(thisMachine);
  const listeners = new Listeners({
    ...{ ...snapshot, ...thisMachine, clock: time, gateway, random: () => 0, connectionListener: silent() },
    ...{
      buffered: ownBuffered(),
      permits,
      ticketKeys: new TicketKeys(memory, randomBytes, time.monotonicMs()),
    },
  });
  onTestFinished(() => listeners.destroy());
  const { http } = await listeners.listen();
  overload.use(250);
  for (let turn = 0; turn < 8; turn++) clock.stall(350);
  overload.stop();
  clock.advance(200);
  return { client: await openRaw(http.port), requests, time, turn: () => overload.tick() };
}

test('a request that is shed gets a 503, and its connection serves the next one after a rest', async () => {
  const { client, requests, turn, time } = await behind();
  const response = await client.ask(head('GET /open/shed'));
  expectError(response, 503, 14);
  expect(header(response, 'retry-after')).toBe('1');
  expect(header(response, 'connection')).toBe('keep-alive');
  await client.send(head('GET /open/served'));
  turn();
  await time.advanceUntil('it is served', () => requests.length > 0);
  expect(requests.map(({ target }) => target)).toEqual(['/open/served']);
});

test('a request behind one that was shed is not read during the rest', async () => {
  const { client, requests, turn } = await behind();
  await client.send(head('GET /open/shed') + head('GET /open/behind'));
  expectError(await client.answer(), 503, 14);
  turn();
  for (let n = 0; n < 20; n++) await new Promise(resolve => setImmediate(resolve));
  expect(requests).toEqual([]);
});
