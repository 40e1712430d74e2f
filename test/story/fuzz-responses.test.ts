import { expect, test } from 'vitest';
import { judgeResponse, readResponse } from '../support/fuzz/response-judge.ts';
import { fuzzResponse } from '../support/fuzz/responses.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { Random } from '../support/random.ts';
import { head } from '../support/requests.ts';
import { runs, seedOfRun } from '../support/runs.ts';
import {
  header,
  openRaw,
  type RawClient,
  startUpstream,
  type UpstreamExchange,
} from '../support/wire/index.ts';

const RESPONSES = runs(10_000);
const CLIENTS = 16;
const FINDINGS = 10;

/** The upstream's response to request number `number`, and what a careful reader makes of it. */
function planned(seed: number, number: number) {
  const response = fuzzResponse(number, new Random(seed + number));
  return { ...response, reference: readResponse(response.bytes, response.method) };
}

/** Sends the response in one piece or several, and ends the connection where nothing else tells the end. */
async function sendResponse(seed: number, exchange: UpstreamExchange): Promise<void> {
  const number = Number(exchange.request.target.slice(1));
  const random = new Random(seed + number + 0x5eed);
  const { bytes, reference } = planned(seed, number);
  let at = 0;
  // Bytes behind an end that a reader has seen would reach the next request on the connection, and no gateway could tell.
  const inPieces =
    !reference.odd && (reference.kind !== 'whole' || reference.rest === 0) && random.chance(0.3);
  for (let pieces = inPieces ? random.below(4) : 0; pieces > 0; pieces--) {
    const to = at + random.below(bytes.length - at + 1);
    await exchange.send(bytes.subarray(at, to));
    await new Promise(resolve => setImmediate(resolve));
    at = to;
  }
  await exchange.send(bytes.subarray(at));
  if (reference.kind === 'whole' && random.chance(0.95)) return;
  if (reference.kind === 'whole' || reference.kind === 'until close' || random.chance(0.5))
    exchange.connection.end();
  else exchange.connection.reset();
}

test(`of ${RESPONSES} mutated answers a client gets the one to its request or an error, never another`, async () => {
  const seed = seedOfRun();
  const upstream = await startUpstream(exchange => sendResponse(seed, exchange));
  // They only end what went wrong: an upstream that has nothing more to send closes.
  const api = { timeouts: { first_byte: '50s', idle: '50s' } };
  const gateway = await startGatewayProcess({ upstreamPort: upstream.port, api });
  const findings: { number: number; what: string; sent: string }[] = [];
  let [asked, passed, refused] = [0, 0, 0];

  const ask = async (client: RawClient, number: number): Promise<boolean> => {
    const { method, bytes, plain, reference } = planned(seed, number);
    const note = (what: string): void =>
      void findings.push({ number, what, sent: JSON.stringify(bytes.toString('latin1')) });
    try {
      const response = await client.ask(head(`${method} /${number}`));
      const wrong = judgeResponse(response, reference, plain);
      if (wrong !== null) note(wrong);
      if (header(response, 'content-type') === 'application/json') refused++;
      else passed++;
      return response.complete && header(response, 'connection') !== 'close';
    } catch (error) {
      note(`${error}; it got ${JSON.stringify(client.received.subarray(-500).toString('latin1'))}`);
      return false;
    }
  };
  const work = async (): Promise<void> => {
    while (asked < RESPONSES && findings.length < FINDINGS && gateway.running) {
      const client = await openRaw(gateway.port);
      while (asked < RESPONSES && (await ask(client, ++asked)));
      client.destroy();
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, work)).catch(error => {
    findings.push({ number: asked, what: `${error} ${gateway.output}`, sent: '' });
  });

  expect(findings).toEqual([]);
  expect(gateway.running, gateway.output).toBe(true);
  // The mutations were neither too tame nor too wild to tell anything.
  expect(passed).toBeGreaterThan(0.2 * asked);
  expect(refused).toBeGreaterThan(0.1 * asked);
});
