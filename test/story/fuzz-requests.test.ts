import { expect, test } from 'vitest';
import { Conversation } from '../support/fuzz/conversation.ts';
import { fuzzRequest } from '../support/fuzz/requests.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { Random } from '../support/random.ts';
import { runs, seedOfRun } from '../support/runs.ts';
import { settled } from '../support/wait.ts';
import { type CapturedRequest, openRaw, startUpstream, values } from '../support/wire/index.ts';

const REQUESTS = runs(100_000, 2_000);
const CLIENTS = 16;
const REQUESTS_OF_A_CONNECTION = 20;
/** A connection is judged when so many others were made after it: what it left in flight has arrived by then. */
const JUDGED_AFTER = 500;
const FINDINGS = 10;

/** The address of one connection: all of 127.0.0.0/8 is one's own. */
function addressOf(number: number): string {
  return `127.${1 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
}

/**
 * Each connection comes from an address of its own, which the gateway alone may tell the upstream. So every request that
 * arrives there belongs to one connection, and can be held against what a careful reader makes of that connection's bytes.
 */
test.runIf(process.platform === 'linux')(
  `of ${REQUESTS} mutated requests the upstream sees each at most once and as it was sent, but for prefix and base, and for its host alone`,
  async () => {
    const seed = seedOfRun();
    const captured = new Map<string, CapturedRequest[]>();
    const upstream = await startUpstream(async exchange => {
      const address = values(exchange.request.fields, 'x-forwarded-for').join();
      const others = captured.get(address);
      if (others === undefined) captured.set(address, [exchange.request]);
      else others.push(exchange.request);
      await exchange.received();
      await exchange.answer(200, [], 'ok');
    });
    const url = `http://127.0.0.1:${upstream.port}`;
    const config = {
      forwarding_headers: ['X-Auth-Subject'],
      upstreams: {
        api: { url },
        based: { url: `${url}/base` },
        a: { url: `${url}/of-a` },
        b: { url: `${url}/of-b` },
        w: { url: `${url}/of-w` },
      },
      routes: [
        { path: '/**', hosts: ['a.test'], upstream: 'a', authentication: 'none' },
        { path: '/b/**', hosts: ['b.test'], strip_prefix: '/b', upstream: 'b', authentication: 'none' },
        { path: '/**', hosts: ['*.w.test'], upstream: 'w', authentication: 'none' },
        { path: '/**', upstream: 'api', authentication: 'none' },
        { path: '/a/**', strip_prefix: '/a', upstream: 'based', authentication: 'none', semicolons: 'pass' },
      ],
    };
    const gateway = await startGatewayProcess({ upstreamPort: upstream.port, config });
    const findings: { what: string; sent: string }[] = [];
    const waiting: Conversation[] = [];
    let [made, connections, forwarded] = [0, 0, 0];

    const judge = (conversation: Conversation | undefined): void => {
      if (conversation === undefined) return;
      const requests = captured.get(conversation.address) ?? [];
      captured.delete(conversation.address);
      forwarded += requests.length;
      const wrong = conversation.judge(requests);
      if (wrong !== null) findings.push({ what: wrong, sent: conversation.sent });
    };
    const converse = async (number: number): Promise<void> => {
      const random = new Random(seed + number);
      const client = await openRaw(gateway.port, { localAddress: addressOf(number) });
      const conversation = new Conversation(client, addressOf(number));
      try {
        for (let count = 0, goesOn = true; goesOn && count < REQUESTS_OF_A_CONNECTION; count++) {
          made++;
          goesOn = await conversation.exchange(fuzzRequest(random), random);
        }
      } catch (error) {
        findings.push({ what: String(error), sent: conversation.sent });
      }
      client.destroy();
      waiting.push(conversation);
      if (waiting.length > JUDGED_AFTER) judge(waiting.shift());
      if (number % 1_000 === 0) upstream.forget();
    };
    const work = async (): Promise<void> => {
      while (made < REQUESTS && findings.length < FINDINGS && gateway.running) await converse(++connections);
    };
    await Promise.all(Array.from({ length: CLIENTS }, work)).catch(error => {
      findings.push({ what: `${error} ${gateway.output}`, sent: '' });
    });
    // What the gateway still forwards comes before its next answers.
    await settled(() => gateway.admin('/healthz').then(() => [...captured.values()].flat().length));
    for (const conversation of waiting) judge(conversation);

    expect(findings).toEqual([]);
    expect(gateway.running, gateway.output).toBe(true);
    expect([...captured.keys()], 'addresses of no connection').toEqual([]);
    // The mutations were neither too tame nor too wild to tell anything.
    expect(forwarded).toBeGreaterThan(0.2 * made);
    expect(connections).toBeGreaterThan(0.1 * made);
  },
);
