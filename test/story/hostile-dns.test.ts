import { createSocket, type RemoteInfo } from 'node:dgram';
import { promises } from 'node:dns';
import { createServer, isIP } from 'node:net';
import DNS from 'dns2';
import { expect, it, onTestFinished } from 'vitest';
import { thisMachine } from '../../src/core/index.ts';
import type { LookupAnswer } from '../../src/upstream/names/lookup.ts';
import { srvLookup } from '../../src/upstream/names/srv-lookup.ts';
import { freePort } from '../support/free-port.ts';
import { Random } from '../support/random.ts';
import { runs, seedOfRun } from '../support/runs.ts';

const { Packet } = DNS;
const NAME = '_http._tcp.api.test';
/** How often 25 broken answers come at once. */
const ROUNDS = runs(4);

/** A right answer to a query, as bytes. */
function answerTo(query: DNS.Packet): Buffer {
  const [question] = query.questions;
  if (question === undefined) throw new Error('no question');
  const answer = Packet.createResponseFromRequest(query);
  const { name, type } = question;
  const is = { class: Packet.CLASS.IN, type, ttl: 30 };
  const srv = { target: 'good.test', port: 80, priority: 0, weight: 0 };
  const known = type === Packet.TYPE.SRV ? srv : { address: type === Packet.TYPE.A ? '10.0.0.1' : 'fd00::1' };
  answer.answers.push(Object.assign(new Packet.Resource(name), is, known));
  return answer.toBuffer();
}

it('makes addresses with ports of whatever a DNS server sends, or none', async () => {
  const random = new Random(seedOfRun());
  const port = await freePort();
  const udp = createSocket('udp4', (query: Buffer, from: RemoteInfo) => {
    const { questions } = Packet.parse(query);
    const bytes = answerTo(Packet.parse(query));
    // Number, flags and question stay, so that the rest is looked at.
    const answersAt = 12 + (questions[0]?.name.length ?? 0) + 6;
    for (let i = random.below(3); i > 0; i--)
      bytes[answersAt + random.below(bytes.length - answersAt)] = random.below(256);
    const sent = random.chance(0.8) ? bytes : bytes.subarray(0, bytes.length - random.below(20));
    udp.send(sent, from.port, from.address);
  });
  await new Promise<void>(bound => udp.bind(port, '127.0.0.1', bound));
  const tcp = createServer(socket => socket.destroy());
  await new Promise<void>(listening => tcp.listen(port, '127.0.0.1', listening));
  onTestFinished(() => {
    udp.close();
    tcp.close();
  });
  const createResolver = () => {
    const resolver = new promises.Resolver({ timeout: 100, tries: 1 });
    resolver.setServers([`127.0.0.1:${port}`]);
    return resolver;
  };
  const system = { ...thisMachine, network: { ...thisMachine.network, createResolver } };
  const found: LookupAnswer[] = [];
  // A busy machine may let all answers of a round come too late.
  for (let round = 0; round < ROUNDS || found.length === 0; round++) {
    const asked = Array.from({ length: 25 }, () => srvLookup(NAME, system)());
    for (const answer of await Promise.allSettled(asked))
      if (answer.status === 'fulfilled') found.push(answer.value);
  }
  for (const { host, port: itsPort, weight } of found.flat(2)) {
    expect(isIP(host)).not.toBe(0);
    expect(itsPort).toBeGreaterThan(0);
    expect(weight).toBeGreaterThan(0);
    expect(weight).toBeLessThan(Number.POSITIVE_INFINITY);
  }
});
