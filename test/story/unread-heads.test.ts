import { expect, test } from 'vitest';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { H2C } from '../support/http2-client.ts';
import { block, connectFrames, FLAG, frame, request, TYPE, uint32 } from '../support/http2-frames.ts';
import { usedBytes } from '../support/memory.ts';
import { head } from '../support/requests.ts';
import { areWhole } from '../support/runs.ts';
import { settled, waitFor } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const MIB = 1024 * 1024;
/** More than kernels take of a connection. */
const FLOOD_BYTES = 64 * MIB;
/** Long, so that few of them fill what kernels keep, and too long for the table of HPACK, from which a byte would do for each. */
const LONG = 'x'.repeat(4_090);
/** What may wait of one connection: its streams, and those that came in one piece with the last. */
const MAX_WAITING = 1_000;
const PIECE = 64;

const KINDS: readonly (readonly [name: string, fields: [string, string][]])[] = [
  ['HEAD requests', request('/fixed', 'HEAD')],
  ['requests that are answered with 204', request('*', 'OPTIONS')],
  ['requests that a service answers without a body', request('/api')],
  [
    'gRPC calls without a route',
    [...request('/no.Such/Method', 'POST'), ['content-type', 'application/grpc'], ['te', 'trailers']],
  ],
];

async function start() {
  const time = new FrozenClock(Date.now());
  const upstream = await startUpstream(exchange => exchange.answer(200, ['X-Long', LONG]));
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    clock: time,
    config: {
      listen: H2C,
      timeouts: { client_read: '2s' },
      routes: [
        { path: '/api', upstream: 'api', authentication: 'none' },
        { path: '/fixed', authentication: 'none', respond: { status: 200, headers: { 'X-Long': LONG } } },
      ],
    },
  });
  return { gateway, time, upstream };
}

/** How many requests are over. */
async function over(gateway: LocalGateway): Promise<number> {
  return [...(await gateway.metric('weir_requests_total')).values()].reduce((all, each) => all + each, 0);
}

/** How many responses were delivered, and how much waits. */
async function progress(gateway: LocalGateway): Promise<string> {
  return `${await over(gateway)}, ${[...(await gateway.metric('weir_buffered_bytes')).values()]}`;
}

/** What the others wait in as well, and the only one that a service has a part in. */
const FIRST = 'requests that a service answers without a body';

test.each(KINDS.filter(([name]) => areWhole || name === FIRST))(
  'a client that sends %s and reads nothing is not read from, and ended',
  async (_, fields) => {
    const { gateway, time, upstream } = await start();
    const isServed = fields.some(([, value]) => value === '/api');
    const before = usedBytes();
    const client = await (await connectFrames(gateway.port)).begin();
    client.pause();
    // With a PING and a byte of window in between. A service never has more requests at a time than streams may be open.
    let taken = 0;
    let isOver = false;
    const section = block(fields);
    const ask = (stream: number) => frame(TYPE.headers, FLAG.endStream | FLAG.endHeaders, stream, section);
    const flood = (async () => {
      for (let stream = 1; taken < FLOOD_BYTES && !isOver; stream += 2 * PIECE) {
        const requests = Array.from({ length: PIECE }, (_each, i) => ask(stream + 2 * i));
        const others = [frame(TYPE.ping, 0, 0, Buffer.alloc(8)), frame(TYPE.windowUpdate, 0, 0, uint32(1))];
        const piece = Buffer.concat([...requests, ...others]);
        await client.send(piece);
        taken += piece.length;
        const hasAll = () => isOver || upstream.requests.length > stream / 2;
        if (isServed) await waitFor('the service has had them', hasAll);
      }
    })();
    await settled(async () => `${taken}, ${await progress(gateway)}`);
    expect(taken).toBeLessThan(FLOOD_BYTES);
    // A connection to the service reads into 64 KiB, at both ends.
    const others = upstream.connections.length * 131_072;
    expect(usedBytes() - before - others).toBeLessThan(48 * MIB);
    expect((await gateway.ask(head('GET /fixed'))).status).toBe(200);
    const delivered = await over(gateway);
    time.advance(5_000);
    isOver = true;
    expect(await gateway.counted('weir_readers_ended_total')).toEqual(new Map([['{reason="slow"}', 1]]));
    const atTheEnd = async () => (await over(gateway)) - delivered;
    await waitFor('what waited is counted', async () => (await atTheEnd()) > 0);
    expect(await atTheEnd()).toBeLessThan(MAX_WAITING);
    client.destroy();
    await flood;
  },
);
