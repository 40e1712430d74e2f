import { type ClientHttp2Session, connect, constants, type Settings } from 'node:http2';
import { Duplex } from 'node:stream';
import { Http2Fault, ServerSession } from '../../../src/wire/http2/index.ts';
import { FLAG, TYPE } from '../http2-frames.ts';
import type { Random } from '../random.ts';
import { rawFrames } from '../sent-frames.ts';
import { type FuzzRun, fuzz } from './fuzz-run.ts';
import { holdSession } from './hold-session.ts';
import { disagreement, isOver, NodeExchange, OurExchange } from './http2-exchange.ts';

const REQUESTS = 20;
const PREFACE_BYTES = 24;
const MOST_TURNS = 5_000;
const { PADDING_STRATEGY_MAX, PADDING_STRATEGY_NONE } = constants;

/**
 * Lets Node's client, which is nghttp2, and our server exchange messages in memory, over pieces of bytes that are cut at random:
 * each must be told what the other says it sent. A session has 20 exchanges, each of which counts as a case.
 */
export async function fuzzHttp2Exchanges(
  run: FuzzRun,
): Promise<{ readonly cases: number; readonly whole: number; readonly findings: readonly string[] }> {
  let whole = 0;
  const sessions = { ...run, cases: Math.ceil(run.cases / REQUESTS) };
  const { cases, findings } = await fuzz(sessions, async (random, note) => {
    const talk = new Talk(random);
    const [finding] = await talk.findings();
    if (finding !== undefined) note(finding);
    whole += talk.whole;
  });
  return { cases: cases * REQUESTS, whole, findings };
}

/** One end of a connection in memory, on which Node's session stands. */
class NodeEnd extends Duplex {
  written: Buffer[] = [];

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.written.push(Buffer.from(bytes));
    done();
  }
}

/** A session of Node's client with our server's. */
class Talk {
  readonly #random: Random;
  readonly #end = new NodeEnd();
  readonly #node: ClientHttp2Session;
  readonly #ours: ServerSession;
  readonly #asked: NodeExchange[] = [];
  readonly #served = new Map<string, OurExchange>();
  readonly #findings: string[] = [];
  readonly #toOurs = new Way();
  readonly #toNode = new Way();
  #awaited = 0;
  #isShutDown = false;

  constructor(random: Random) {
    this.#random = random;
    this.#node = connect('http://a.test', {
      ...{
        createConnection: () => this.#end,
        settings: someSettings(random),
        strictSingleValueFields: false,
      },
      ...{ maxDeflateDynamicTableSize: random.pick([0, 100, 4_096]), maxSessionMemory: 100 },
      paddingStrategy: random.pick([PADDING_STRATEGY_NONE, PADDING_STRATEGY_MAX]),
    });
    this.#node.on('error', error => this.#findings.push(`Node's session failed: ${error.message}`));
    this.#ours = this.#serverSession();
  }

  get whole(): number {
    return this.#asked.filter(({ request, response }) => request.isWhole && response.isWhole).length;
  }

  /** Runs to the end of all exchanges. Returns what the sides tell differently. */
  async findings(): Promise<readonly string[]> {
    const letGo = holdSession(this.#node);
    try {
      await this.#run();
    } catch (fault) {
      if (!(fault instanceof Http2Fault)) throw fault;
      this.#findings.push(`our session failed: ${fault.message}`);
    }
    this.#compare();
    this.#ours.lose();
    this.#node.destroy();
    letGo();
    return this.#findings;
  }

  #serverSession(): ServerSession {
    const random = this.#random;
    const options = {
      ...{ maxBytes: 65_536, maxFields: 500, maxStreams: REQUESTS, offersConnect: random.chance(0.5) },
      ...{
        streamWindow: random.chance(0.05) ? 100 : random.pick([1_024, 65_536]),
        connectionWindow: random.pick([65_536, 1_048_576]),
      },
      maxUnsent: 10_000_000,
    };
    return new ServerSession(options, {
      wake: () => {},
      settingsRead: () => {},
      isOverShare: false,
      shutDownSeen: () => this.#ours.goAway(0),
      goaway: code => code > 0 && this.#findings.push(`Node goes away with ${code}`),
      request: (stream, section, ends) => {
        const exchange = new OurExchange(stream, section, ends, random);
        this.#served.set(section.fields[section.fields.indexOf(':path') + 1] ?? '', exchange);
        return exchange;
      },
    });
  }

  async #run(): Promise<void> {
    for (let turn = 0; !this.#isOver(); turn++) {
      if (turn > MOST_TURNS) {
        this.#findings.push('it does not end');
        return;
      }
      this.#act();
      this.#carry();
      await new Promise(setImmediate);
    }
  }

  #isOver(): boolean {
    const isDone =
      this.#asked.length === REQUESTS &&
      this.#asked.every((each, i) => isOver(each, this.#served.get(`/${i}`)));
    if (!isDone || this.#awaited > 0) return false;
    return this.#toOurs.isEmpty && this.#toNode.isEmpty && this.#end.written.length === 0;
  }

  /** Both sides do something. */
  #act(): void {
    const random = this.#random;
    while (this.#asked.length < REQUESTS && random.chance(0.6))
      this.#asked.push(new NodeExchange(this.#node, `/${this.#asked.length}`, random));
    for (const exchange of this.#asked) if (random.chance(0.5)) exchange.step();
    for (const exchange of this.#served.values()) if (random.chance(0.5)) exchange.step();
    // Node opens no stream any more once it has read the GOAWAY.
    if (this.#served.size === REQUESTS && !this.#isShutDown) {
      this.#isShutDown = true;
      if (random.chance(0.3)) this.#ours.shutDown();
    }
    if (random.chance(0.05)) this.#ours.sendPing();
    if (this.#node.destroyed || this.#node.closed || this.#asked.length === REQUESTS) return;
    if (random.chance(0.05)) this.#ping();
    if (random.chance(0.05)) this.#changeSettings();
  }

  #ping(): void {
    const payload = this.#random.bytes(8);
    this.#awaited++;
    this.#node.ping(payload, (error, _ms, came) => {
      this.#awaited--;
      if (error !== null || !payload.equals(came)) this.#findings.push(`PING came back as ${error}`);
    });
  }

  #changeSettings(): void {
    this.#awaited++;
    this.#node.settings(someSettings(this.#random), error => {
      this.#awaited--;
      if (error !== null) this.#findings.push(`SETTINGS were not acknowledged: ${error}`);
    });
  }

  /** Carries some of the bytes that are on their way. */
  #carry(): void {
    this.#toOurs.push(...this.#end.written.splice(0));
    for (const piece of this.#toOurs.pieces(this.#random)) {
      // A buffer that is read may be overwritten, unless the session says that it holds parts of it.
      if (this.#ours.read(piece, piece.length)) piece.fill('?');
      while (this.#ours.isBehind) this.#ours.readOn();
    }
    // The next frame overwrites what is taken.
    this.#toNode.push(Buffer.from(this.#ours.take()));
    for (const piece of this.#toNode.pieces(this.#random)) if (!this.#end.destroyed) this.#end.push(piece);
  }

  #compare(): void {
    for (const [i, exchange] of this.#asked.entries()) {
      const found = disagreement(exchange, this.#served.get(`/${i}`));
      if (found !== null) this.#findings.push(`exchange ${i}: ${found}`);
    }
    const asked = controlFrames(this.#toOurs.all, PREFACE_BYTES, false);
    const acknowledged = controlFrames(this.#toNode.all, 0, true);
    if (asked.join() !== acknowledged.join())
      this.#findings.push(`acknowledged ${acknowledged} for ${asked}`);
  }
}

/** Bytes on their way to one side. */
class Way {
  readonly all: Buffer[] = [];
  #rest: Buffer = Buffer.alloc(0);

  get isEmpty(): boolean {
    return this.#rest.length === 0;
  }

  push(...pieces: Buffer[]): void {
    this.all.push(...pieces);
    this.#rest = Buffer.concat([this.#rest, ...pieces]);
  }

  /** Takes some of the bytes, each piece as a buffer of its own. */
  *pieces(random: Random): Generator<Buffer> {
    while (this.#rest.length > 0 && random.chance(0.8)) {
      const length = 1 + random.below(Math.min(this.#rest.length, random.pick([10, 500, 100_000])));
      yield Buffer.from(this.#rest.subarray(0, length));
      this.#rest = this.#rest.subarray(length);
    }
  }
}

/** The SETTINGS and PING frames of what a side wrote: those that ask, or those that acknowledge. */
function controlFrames(written: readonly Buffer[], from: number, areAcknowledgements: boolean): string[] {
  return rawFrames(Buffer.concat(written).subarray(from))
    .filter(({ flags }) => (flags & FLAG.ack) === (areAcknowledgements ? FLAG.ack : 0))
    .flatMap(({ type, payload }) => {
      if (type === TYPE.ping) return [`PING ${payload.toString('hex')}`];
      return type === TYPE.settings ? ['SETTINGS'] : [];
    });
}

function someSettings(random: Random): Settings {
  return {
    headerTableSize: random.pick([0, 100, 4_096, 65_536]),
    initialWindowSize: random.chance(0.05) ? 100 : random.pick([2_000, 65_535, 1_000_000]),
    maxFrameSize: random.pick([16_384, 100_000]),
    enablePush: false,
  };
}
