import { describe, expect, test } from 'vitest';
import { expectError } from '../support/error-object.ts';
import {
  FLAG,
  type FramePeer,
  frame,
  headers,
  startFrameUpstream,
  TYPE,
  uint32,
} from '../support/frame-upstream.ts';
import { type ConfigPart, startGateway, withoutWorkers } from '../support/gateway.ts';
import { head, withBody } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import { responseOk, type Script, startUpstream, values } from '../support/wire/index.ts';

async function front(script: Script, api: ConfigPart = {}) {
  const upstream = await startUpstream(script);
  const gateway = await startGateway({ upstreamPort: upstream.port, api });
  return { upstream, gateway, client: await gateway.connect() };
}

/** Answers, and closes without saying so. */
const closesBehind: Script = async exchange => {
  await responseOk(exchange);
  exchange.connection.end();
};

describe('a service that closes each connection without saying so', () => {
  test('gets each POST once', async () => {
    const { upstream, gateway } = await front(closesBehind, { max_requests_per_caller: '100%' });
    const clients = await Promise.all(Array.from({ length: 4 }, () => gateway.connect()));
    const statuses = await Promise.all(
      clients.map(async client => {
        const answers: number[] = [];
        for (let i = 0; i < 25; i++) answers.push((await client.ask(withBody('POST /a', 'hi'))).status);
        return answers;
      }),
    );
    expect(statuses.flat()).toEqual(Array(100).fill(200));
    expect(upstream.requests).toHaveLength(100);
  });

  test('is learnt: its connections rest behind each answer, until one stays open', async () => {
    withoutWorkers();
    const { upstream, gateway, client } = await front(closesBehind);
    await client.ask(withBody('POST /a', 'hi'));
    await waitFor('the end is seen', () => upstream.openConnections.length === 0);
    upstream.script = responseOk;
    for (let i = 0; i < 2; i++) await client.ask(withBody('POST /a', 'hi'));
    expect(upstream.connections).toHaveLength(3);
    gateway.time.advance(130);
    await new Promise(setImmediate);
    for (let i = 0; i < 3; i++) await client.ask(withBody('POST /a', 'hi'));
    expect(upstream.connections).toHaveLength(3);
  });

  test('needs nothing to be learnt with keep_alive: off', async () => {
    const { upstream, client } = await front(
      exchange => exchange.answer(200, ['Keep-Alive', 'timeout=60'], 'ok'),
      { keep_alive: 'off' },
    );
    for (let i = 0; i < 3; i++) expect((await client.ask(head('GET /a'))).status).toBe(200);
    expect(upstream.connections).toHaveLength(3);
    for (const { fields } of upstream.requests) expect(values(fields, 'connection')).toEqual(['close']);
  });
});

describe('a request that a service of HTTP/2 has not processed', () => {
  const GOAWAY = (last: number) => frame(TYPE.goaway, FLAG.none, 0, uint32(last, 0));
  const REFUSED = (stream: number) => frame(TYPE.rstStream, FLAG.none, stream, uint32(7));

  /** A service that refuses the first request whole, after its body has come, and answers the next. */
  async function refusing(refuse: (peer: FramePeer, stream: number) => void, api: ConfigPart = {}) {
    let requests = 0;
    const upstream = await startFrameUpstream({
      stream: async (peer, stream) => {
        requests++;
        if (requests > 1) peer.send(headers(stream, { ':status': '204' }, FLAG.endStream));
        else {
          await peer.next(TYPE.data, stream);
          refuse(peer, stream);
        }
      },
    });
    const gateway = await startGateway({ upstreamPort: upstream.port, api: { protocol: 'h2', ...api } });
    return { gateway, count: () => requests };
  }

  test.each([
    ['is above the last stream of a GOAWAY', (peer: FramePeer) => peer.send(GOAWAY(0))],
    ['is refused', (peer: FramePeer, stream: number) => peer.send(REFUSED(stream))],
  ])('goes again with its body: it %s', async (_, refuse) => {
    const { gateway, count } = await refusing(refuse);
    expect((await gateway.ask(withBody('POST /a', 'x'.repeat(16_384)))).status).toBe(204);
    expect(count()).toBe(2);
  });

  test.each([
    ['with a longer body', {}, 16_385],
    ['with replay: off', { replay: 'off' }, 1],
    ['with a smaller replay', { replay: '5B' }, 6],
  ])('is a 502 %s', async (_, api, length) => {
    const { gateway, count } = await refusing(peer => peer.send(GOAWAY(0)), api);
    expectError(await gateway.ask(withBody('POST /a', 'x'.repeat(length))), 502, 14);
    expect(count()).toBe(1);
  });

  test('is a 502 if the service may have processed it', async () => {
    for (const end of [
      (peer: FramePeer) => peer.send(GOAWAY(1), frame(TYPE.rstStream, FLAG.none, 1, uint32(2))),
      (peer: FramePeer) => void peer.socket.destroy(),
    ]) {
      const { gateway, count } = await refusing(end);
      expectError(await gateway.ask(withBody('POST /a', 'hi')), 502, 14);
      expect(count()).toBe(1);
    }
  });
});
