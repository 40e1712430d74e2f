import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { H2C } from '../support/http2-client.ts';
import {
  connectFrames,
  frame,
  headers,
  PREFACE,
  request,
  settings,
  TYPE,
  uint32,
} from '../support/http2-frames.ts';
import { head } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import { type Script, startUpstream } from '../support/wire/index.ts';

/** How many requests of a connection are served before others have their turn. */
const SLICE = 64;
/** Turns of the event loop in which a request is read, forwarded and answered, with room to spare. */
const TURNS = 10;
const REQUESTS = 20_000;

async function start(script?: Script): Promise<LocalGateway> {
  const upstream = await startUpstream(script);
  const config = { listen: H2C, log: { level: 'info', access: true } };
  return startGateway({ upstreamPort: upstream.port, route: { path: '/known/**' }, config });
}

/** Counts the turns of the event loop, which the gateway shares with its clients here. Returns how many there were. */
function countTurns(onTurn = (): void => {}): () => number {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns++;
    onTurn();
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  onTestFinished(() => {
    isDone = true;
  });
  return () => turns;
}

/** Places of the access lines of a path. */
function places({ logLines }: LocalGateway, path: string): number[] {
  return logLines.flatMap((line, i) => (line.includes(`"${path}"`) ? [i] : []));
}

test.each<[string, (gateway: LocalGateway) => Promise<unknown>]>([
  ['HTTP/1.1', async gateway => (await gateway.connect()).send(head('GET /unknown').repeat(REQUESTS))],
  [
    'HTTP/2',
    async gateway => {
      const client = await (await connectFrames(gateway.port)).begin();
      const requests = Array.from({ length: REQUESTS }, (_, i) => headers(2 * i + 1, request('/unknown')));
      return client.send(frame(TYPE.windowUpdate, 0, 0, uint32(100_000_000)), ...requests);
    },
  ],
])('a connection that sends thousands of requests over %s in one go holds up no other', async (_, flood) => {
  const gateway = await start();
  let [most, before] = [0, 0];
  const { logLines } = gateway;
  const client = await gateway.connect();
  countTurns(() => {
    most = Math.max(most, logLines.length - before);
    before = logLines.length;
  });
  void flood(gateway);
  for (let asked = 0; asked < 5; asked++) {
    const seen = logLines.length;
    await waitFor('some of them were served', () => logLines.length > seen + SLICE);
    const from = logLines.length;
    client.send(head('GET /known/a'));
    expect((await client.answer()).status).toBe(200);
    expect((places(gateway, '/known/a').at(-1) ?? 0) - from).toBeLessThan(TURNS * SLICE);
  }
  expect(logLines.length).toBeLessThan(REQUESTS);
  expect(most).toBeLessThan(3 * SLICE);
});

test('a connection with a hundred busy streams holds up no other', async () => {
  let begun = 0;
  const gateway = await start(async exchange => {
    if (exchange.request.target !== '/known/endless') return await exchange.answer(200, [], 'x');
    await exchange.send('HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n');
    begun++;
    for (;;) await exchange.send('x'.repeat(16_384));
  });
  const busy = connect(gateway.port, '127.0.0.1');
  onTestFinished(() => void busy.destroy());
  let bytes = 0;
  busy.on('data', piece => {
    bytes += piece.length;
  });
  const requests = Array.from({ length: 100 }, (_, i) => headers(2 * i + 1, request('/known/endless')));
  // Windows that never shut.
  const windows = [settings([4, 0x7fffffff]), frame(TYPE.windowUpdate, 0, 0, uint32(2 ** 30))];
  busy.write(Buffer.concat([Buffer.from(PREFACE), ...windows, ...requests]));
  await waitFor('all are busy', () => begun === 100);
  const client = await gateway.connect();
  const turns = countTurns();
  for (let asked = 0; asked < 10; asked++) {
    const [turnsBefore, bytesBefore] = [turns(), bytes];
    client.send(head('GET /known/a'));
    expect((await client.answer()).status).toBe(200);
    expect(turns() - turnsBefore).toBeLessThan(3 * TURNS);
    expect(bytes).toBeGreaterThan(bytesBefore);
  }
});
