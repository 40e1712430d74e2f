import { createSocket, type RemoteInfo } from 'node:dgram';
import { createServer, isIP, type Socket } from 'node:net';
import { decode, encode, type Packet } from 'dns-packet';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type TimerClock, thisMachine } from '../../src/core/index.ts';
import { DnsClient, type DnsSystem } from '../../src/upstream/names/dns-client.ts';
import type { LookupAnswer } from '../../src/upstream/names/lookup.ts';
import { srvLookup } from '../../src/upstream/names/srv-lookup.ts';
import { freePort } from '../support/free-port.ts';
import { Random } from '../support/random.ts';
import { runs, seedOfRun } from '../support/runs.ts';
import { clockOfTests, inTime } from '../support/test-clock.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const NAME = '_http._tcp.api.test';
const RESPONSE = 0x8180;
/** How often 25 broken answers come at once. */
const ROUNDS = runs(4);

/** What a server sends for each query by UDP, and on each connection. */
interface Script {
  readonly datagrams: (query: Packet, bytes: Buffer) => readonly Buffer[];
  readonly stream?: (query: Buffer, socket: Socket) => void;
}

async function clientOf(script: Script, clock = clockOfTests()): Promise<DnsClient> {
  return new DnsClient(await systemWith(script, clock));
}

/** A system whose DNS server follows a script. */
async function systemWith(script: Script, clock: TimerClock): Promise<DnsSystem> {
  const port = await freePort();
  const udp = createSocket('udp4', (bytes: Buffer, from: RemoteInfo) => {
    for (const answer of script.datagrams(decode(bytes), bytes)) udp.send(answer, from.port, from.address);
  });
  await new Promise<void>(bound => udp.bind(port, '127.0.0.1', bound));
  const tcp = createServer(socket => {
    socket.on('error', () => {});
    socket.on('data', (bytes: Buffer) => script.stream?.(bytes.subarray(2), socket));
  });
  await new Promise<void>(listening => tcp.listen(port, '127.0.0.1', listening));
  onTestFinished(() => {
    udp.close();
    tcp.close();
  });
  const network = { ...thisMachine.network, nameServers: () => [`127.0.0.1:${port}`] };
  return { ...thisMachine, clock, network };
}

function answerTo(query: Packet, target: string, changes: Partial<Packet> = {}): Buffer {
  const [question] = query.questions ?? [];
  const name = question?.name ?? '';
  return encode({
    ...{ type: 'response', id: query.id, flags: RESPONSE, questions: query.questions },
    answers: [{ type: 'SRV', name, ttl: 30, data: { target, port: 80, priority: 0, weight: 0 } }],
    ...changes,
  } as Packet);
}

async function targetsOf(client: DnsClient): Promise<string[]> {
  const { answers } = await client.ask(NAME, 'SRV');
  return answers.filter(record => record.type === 'SRV').map(({ data }) => data.target);
}

describe('a client of DNS', () => {
  it('takes no answer to another question, and none with another number', async () => {
    const client = await clientOf({
      datagrams: query => [
        Buffer.alloc(0),
        Buffer.from('not a message of DNS'),
        answerTo(query, 'evil.test', { id: ((query.id ?? 0) + 1) & 0xffff }),
        answerTo(query, 'evil.test', { type: 'query', flags: 0 }),
        answerTo(query, 'evil.test', { questions: [{ type: 'SRV', name: 'other.test' }] }),
        answerTo(query, 'evil.test', { questions: [{ type: 'A', name: NAME }] }),
        answerTo(query, 'evil.test', { questions: [] }),
        answerTo(query, 'good.test'),
      ],
    });
    expect(await targetsOf(client)).toEqual(['good.test']);
  });

  it('takes no datagram from another address', async () => {
    const stranger = createSocket('udp4');
    onTestFinished(() => void stranger.close());
    const port = await freePort();
    const udp = createSocket('udp4', (bytes, from) => {
      const query = decode(bytes);
      stranger.send(answerTo(query, 'evil.test'), from.port, from.address, () =>
        udp.send(answerTo(query, 'good.test'), from.port, from.address),
      );
    });
    onTestFinished(() => void udp.close());
    await new Promise<void>(bound => udp.bind(port, '127.0.0.1', bound));
    const network = { ...thisMachine.network, nameServers: () => [`127.0.0.1:${port}`] };
    expect(await targetsOf(new DnsClient({ ...thisMachine, clock: clockOfTests(), network }))).toEqual([
      'good.test',
    ]);
  });

  it('asks by TCP where a server does not know large datagrams, or cuts its answer off', async () => {
    for (const flags of [RESPONSE | 1, RESPONSE | 0x200]) {
      const client = await clientOf({
        datagrams: query => [answerTo(query, 'cut.test', { flags, answers: [] })],
        stream: (query, socket) => {
          const answer = answerTo(decode(query), 'whole.test');
          const length = Buffer.alloc(2);
          length.writeUInt16BE(answer.length);
          // In single bytes, as a slow network may bring them.
          for (const byte of Buffer.concat([length, answer])) socket.write(Buffer.from([byte]));
        },
      });
      expect(await targetsOf(client)).toEqual(['whole.test']);
    }
  });

  it('gives up a server that does not answer, closes the connection or sends too much', async () => {
    const cut = (query: Packet) => [answerTo(query, 'cut.test', { flags: RESPONSE | 0x200, answers: [] })];
    const clock = new FrozenClock();
    const silent = await clientOf({ datagrams: () => [] }, clock);
    await expect(inTime(clock, silent.ask(NAME, 'SRV'))).rejects.toThrow('did not answer in time');
    const closing = await clientOf({ datagrams: cut, stream: (_query, socket) => socket.end() });
    await expect(closing.ask(NAME, 'SRV')).rejects.toThrow('closed the connection');
    const flood = Buffer.alloc(300_000, 0xff);
    const flooding = await clientOf(
      { datagrams: cut, stream: (_query, socket) => void socket.write(flood) },
      clock,
    );
    await expect(inTime(clock, flooding.ask(NAME, 'SRV'))).rejects.toThrow('did not answer in time');
  });

  it('makes addresses with ports of whatever a server sends, or none', async () => {
    const random = new Random(seedOfRun());
    const host = { name: 'good.test', type: 'A', ttl: 30, data: '10.0.0.1' } as const;
    const script: Script = {
      datagrams: query => {
        const bytes = answerTo(query, 'good.test', { additionals: [host] });
        // Number, flags and question stay, so that the rest is looked at.
        const answersAt = 12 + (query.questions?.[0]?.name.length ?? 0) + 6;
        for (let i = random.below(3); i >= 0; i--)
          bytes[answersAt + random.below(bytes.length - answersAt)] = random.below(256);
        return [random.chance(0.8) ? bytes : bytes.subarray(0, bytes.length - random.below(20))];
      },
      stream: (_query, socket) => void socket.destroy(),
    };
    const clock = new FrozenClock();
    const system = await systemWith(script, clock);
    const found: LookupAnswer[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const asked = Array.from({ length: 25 }, () => srvLookup(NAME, system)());
      for (const answer of await inTime(clock, Promise.allSettled(asked)))
        if (answer.status === 'fulfilled') found.push(answer.value);
    }
    expect(found.length).toBeGreaterThan(0);
    for (const { tiers, goodForMs } of found) {
      expect(goodForMs).toBeGreaterThanOrEqual(5_000);
      expect(goodForMs).toBeLessThanOrEqual(300_000);
      for (const { host, port, weight } of tiers.flat()) {
        expect(isIP(host)).not.toBe(0);
        expect(port).toBeGreaterThan(0);
        expect(weight).toBeGreaterThan(0);
        expect(weight).toBeLessThan(Number.POSITIVE_INFINITY);
      }
    }
  });
});
