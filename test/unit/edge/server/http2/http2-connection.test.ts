import { describe, expect, test } from 'vitest';
import { Accepted } from '../../../../../src/edge/server/client-connection.ts';
import { Http2Connection } from '../../../../../src/edge/server/http2/index.ts';
import { type Downstream, type Exchange, errors, type Gateway } from '../../../../../src/gateway/index.ts';
import { FLAG, frame, headers, request, settings, TYPE } from '../../../../support/http2-frames.ts';
import { listenerState } from '../../../../support/listener-state.ts';
import { MemorySocket } from '../../../../support/memory-socket.ts';
import { SentFrames } from '../../../../support/sent-frames.ts';
import { FrozenClock } from '../../../limits/frozen-clock.ts';

const HELLO = [
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  settings(),
  frame(TYPE.settings, FLAG.ack, 0),
];
const CLIENT = {
  peer: '127.0.0.1',
  scheme: 'http',
  mayForward: true,
  redirects: false,
  certificate: null,
} as const;
const NO_PAYLOAD = '0'.repeat(16);
/** GOAWAY with stream 2^31-1, with stream 0 and with stream 1, all without an error. */
const [FIRST, LAST_0, LAST_1] = [`7fffffff${'0'.repeat(8)}`, NO_PAYLOAD, '0000000100000000'];

/** Takes the gateway's place. A test answers what it runs. */
class Exchanges {
  readonly running: Downstream[] = [];
  /** Targets of exchanges that are over, and whether they were delivered. */
  readonly over: [target: string, delivered: boolean][] = [];
  refused = 0;
  fails = false;
  onRun = (_downstream: Downstream): void => {};

  get asGateway(): Gateway {
    return {
      accept: (downstream: Downstream) => {
        if (this.fails) throw new Error('no exchange can be made');
        return { downstream, dialect: { isPaced: true }, drained: () => {} } as unknown as Exchange;
      },
      run: ({ downstream }: Exchange) => {
        this.running.push(downstream);
        this.onRun(downstream);
      },
      over: ({ downstream }: Exchange, delivered: boolean) =>
        void this.over.push([downstream.target, delivered]),
      review: () => {},
      refuse: () => void this.refused++,
    } as unknown as Gateway;
  }
}

/** A connection that is fed by hand, and swept when a test says so. */
class Conversation {
  readonly exchanges = new Exchanges();
  readonly wire = new MemorySocket();
  readonly clock = new FrozenClock();
  readonly connection: Http2Connection;
  readonly #sent = new SentFrames();
  #seen = 0;

  constructor() {
    const state = { ...listenerState(this.exchanges.asGateway, 16_384), clock: this.clock };
    const accepted = new Accepted(this.wire.asSocket, CLIENT.peer);
    this.connection = new Http2Connection(accepted, this.wire.asSocket, CLIENT, state, 'every protocol');
  }

  /** The preface is over on both sides. */
  static async begun(): Promise<Conversation> {
    const conversation = new Conversation();
    await conversation.brings(...HELLO);
    conversation.frames();
    return conversation;
  }

  async brings(...frames: Buffer[]): Promise<void> {
    this.wire.bring(Buffer.concat(frames));
    await this.turns(3);
  }

  async turns(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await new Promise(resolve => setImmediate(resolve));
  }

  /** The frames that were written since the last time, in words. */
  frames(): string[] {
    const bytes = Buffer.from(this.wire.written.slice(this.#seen), 'latin1');
    this.#seen = this.wire.written.length;
    return this.#sent.texts(bytes);
  }

  /** So much time goes by, with two sweeps a second. */
  async passes(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      this.clock.advance(500);
      this.connection.sweep(this.clock.monotonicMs());
    }
    await this.turns(3);
  }
}

const get = (stream: number, path = `/${stream}`) => headers(stream, request(path));

describe('a connection over HTTP/2', () => {
  test('without the SETTINGS of its client is closed after client_header', async () => {
    const conversation = new Conversation();
    await conversation.passes(10_000);
    expect(conversation.wire.destroyed).toBe(false);
    await conversation.passes(500);
    expect(conversation.wire.destroyed).toBe(true);
  });

  test('without requests for keep_alive goes away, by two GOAWAYs', async () => {
    const conversation = await Conversation.begun();
    await conversation.passes(11_000);
    expect(conversation.frames()).toEqual([]);
    await conversation.passes(1_000);
    expect(conversation.frames()).toEqual([`goaway 0 ${FIRST}`, `ping 0 ${NO_PAYLOAD}`]);
    await conversation.brings(frame(TYPE.ping, FLAG.ack, 0, Buffer.alloc(8)));
    expect(conversation.frames()).toEqual([`goaway 0 ${LAST_0}`]);
    expect(conversation.wire.writableFinished).toBe(true);
    // The client does not close its side.
    await conversation.passes(2_500);
    expect(conversation.wire.destroyed).toBe(true);
  });

  test('goes away only keep_alive after its last request, however short that was', async () => {
    const conversation = await Conversation.begun();
    conversation.exchanges.onRun = downstream => downstream.answer(204, '', [], '', false);
    await conversation.passes(8_000);
    await conversation.brings(get(1));
    conversation.frames();
    await conversation.passes(8_000);
    expect(conversation.frames()).toEqual([]);
    await conversation.passes(4_000);
    expect(conversation.frames()[0]).toBe(`goaway 0 ${FIRST}`);
  });

  test('serves what crosses its first GOAWAY, nothing behind the last, and closes behind its last response', async () => {
    const conversation = await Conversation.begun();
    conversation.connection.drain();
    await conversation.brings(get(1));
    await conversation.passes(1_500);
    expect(conversation.frames()).toEqual([
      `goaway 0 ${FIRST}`,
      `ping 0 ${NO_PAYLOAD}`,
      `goaway 0 ${LAST_1}`,
    ]);
    await conversation.brings(get(3));
    expect(conversation.exchanges.running.map(({ target }) => target)).toEqual(['/1']);
    expect(conversation.wire.writableEnded).toBe(false);
    conversation.exchanges.running[0]?.answer(204, '', ['date', 'now'], '', false);
    await conversation.turns(3);
    expect(conversation.frames()).toEqual(['headers 1 :status,204,date,now end']);
    expect(conversation.wire.writableFinished).toBe(true);
    expect(conversation.exchanges.over).toEqual([['/1', true]]);
  });

  test('for which there is no room is told to calm down', async () => {
    const conversation = await Conversation.begun();
    conversation.connection.refuse(errors.overloaded('connections'));
    await conversation.turns(2);
    expect(conversation.frames()).toEqual(['goaway 0 000000000000000b']);
    expect(conversation.exchanges.refused).toBe(1);
  });
});

describe('an exchange over HTTP/2', () => {
  test('is over when the system has taken its last byte, and not delivered if it never does', async () => {
    const conversation = await Conversation.begun();
    const { wire, exchanges } = conversation;
    exchanges.onRun = downstream => downstream.answer(200, '', [], 'x', false);
    wire.hold();
    await conversation.brings(get(1));
    expect(exchanges.over).toEqual([]);
    wire.release();
    await conversation.turns(1);
    expect(exchanges.over).toEqual([['/1', true]]);
    wire.hold();
    await conversation.brings(get(3));
    wire.destroy();
    await conversation.turns(2);
    expect(exchanges.over).toEqual([
      ['/1', true],
      ['/3', false],
    ]);
  });

  test('that cannot be made costs its stream alone', async () => {
    const conversation = await Conversation.begun();
    const { exchanges } = conversation;
    exchanges.fails = true;
    await conversation.brings(get(1));
    expect(conversation.frames()).toEqual(['reset 1 00000002']);
    expect(exchanges.refused).toBe(1);
    exchanges.fails = false;
    await conversation.brings(get(3));
    expect(exchanges.running.map(({ target }) => target)).toEqual(['/3']);
  });

  test('waits with those behind it, so that other connections have their turn', async () => {
    const conversation = await Conversation.begun();
    const { exchanges, wire } = conversation;
    exchanges.onRun = downstream => downstream.answer(204, '', [], '', false);
    wire.bring(Buffer.concat(Array.from({ length: 200 }, (_, i) => get(2 * i + 1))));
    await new Promise(resolve => process.nextTick(resolve));
    expect(exchanges.running).toHaveLength(64);
    expect(wire.isPaused()).toBe(true);
    await conversation.turns(10);
    expect(exchanges.running).toHaveLength(200);
    expect(wire.isPaused()).toBe(false);
  });

  test('reads 64 KiB of a response from the upstream for a client that has shut the window', async () => {
    const conversation = new Conversation();
    const { exchanges } = conversation;
    await conversation.brings(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), settings([4, 0]), get(1));
    const [downstream] = exchanges.running;
    downstream?.head(200, '', []);
    expect(downstream?.write(Buffer.alloc(60_000), null)).toBe(true);
    expect(downstream?.write(Buffer.alloc(10_000), null)).toBe(false);
    await conversation.brings(frame(TYPE.rstStream, 0, 1, Buffer.alloc(4)));
    expect(downstream?.write(Buffer.alloc(1), null)).toBe(false);
  });

  test('counts as in flight until its response is written: at max_streams nothing more is read', async () => {
    const conversation = await Conversation.begun();
    const { exchanges, wire } = conversation;
    const { maxStreams } = listenerState(exchanges.asGateway, 16_384).http2;
    wire.hold();
    for (let i = 0; i < maxStreams; i++) {
      expect(wire.isPaused()).toBe(false);
      await conversation.brings(get(2 * i + 1));
      exchanges.running.at(-1)?.answer(204, '', [], '', false);
      await conversation.turns(1);
    }
    await conversation.brings(get(2 * maxStreams + 1));
    expect(wire.isPaused()).toBe(true);
    expect(exchanges.over).toEqual([]);
    wire.release();
    await conversation.turns(3);
    expect(exchanges.over).toHaveLength(maxStreams);
    expect(wire.isPaused()).toBe(false);
  });

  test('ends for no PING that waits behind what its client reads slowly', async () => {
    const conversation = await Conversation.begun();
    const { exchanges, wire } = conversation;
    await conversation.brings(get(1));
    const [downstream] = exchanges.running;
    downstream?.head(200, '', []);
    for (let i = 0; i < 20; i++) {
      wire.hold();
      downstream?.write(Buffer.alloc(1_000), null);
      await conversation.turns(1);
      await conversation.passes(2_000);
      wire.release();
      await conversation.turns(2);
    }
    expect(wire.destroyed).toBe(false);
  });
});
