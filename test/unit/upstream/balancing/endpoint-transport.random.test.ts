import { expect, it } from 'vitest';
import { alone, States, thisMachine, type UpstreamListener } from '../../../../src/core/index.ts';
import { EndpointTransport } from '../../../../src/upstream/balancing/index.ts';
import { FixedEndpoints } from '../../../../src/upstream/endpoint-source.ts';
import type {
  CallSink,
  EndpointOptions,
  EndpointPool,
  Resender,
  TransportCall,
  UpstreamFailure,
} from '../../../../src/upstream/transport.ts';
import type { OutgoingRequest } from '../../../../src/wire/http1/index.ts';
import { GET } from '../../../support/get-request.ts';
import { Random } from '../../../support/random.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const SILENT: UpstreamListener = {
  endpointChanged() {},
  addressesChanged() {},
  lookupFailed() {},
  lookupWorks() {},
  retried() {},
};
const KINDS = ['connect', 'refused', 'reset', 'timeout', 'malformed', 'truncated'] as const;

/** A request as it was sent to one endpoint, until the test ends it. */
interface Attempt {
  readonly port: number;
  readonly sink: CallSink;
}

/** The forwarder's side of one request: repeats what may be repeated. */
class Client implements CallSink {
  call: TransportCall | null = null;
  ends = 0;
  isGivenUp = false;
  /** It was sent again to an endpoint that resets fresh connections. */
  isSentBack = false;
  readonly failures: UpstreamFailure['kind'][] = [];
  info(): void {}
  neverIndex(): void {}
  head(): void {}
  data(): boolean {
    return true;
  }
  whole(): void {
    this.ends++;
  }
  end(): void {
    this.ends++;
  }
  switched(): void {
    this.ends++;
  }
  fail(failure: UpstreamFailure, resender?: Resender): void {
    this.failures.push(failure.kind);
    const isSafe = failure.kind === 'connect' || failure.kind === 'refused' || failure.kind === 'reset';
    const again = isSafe ? (resender?.resend(failure) ?? null) : null;
    if (again === null) this.ends++;
    else {
      const isFresh = failure.kind === 'reset' && !failure.onReusedConnection;
      if (isFresh && again.endpoint === this.call?.endpoint) this.isSentBack = true;
      this.call = again;
    }
  }
}

/** An upstream whose endpoints come, go, fail and answer at random. */
class Chaos {
  readonly clients: Client[] = [];
  readonly under = new Set<Attempt>();
  readonly #random: Random;
  readonly #clock = new FrozenClock();
  #transport: EndpointTransport | null = null;

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  get transport(): EndpointTransport {
    if (this.#transport === null) throw new Error('not in use yet');
    return this.#transport;
  }

  /** A reload with other endpoints, some of them the same. */
  reload(): void {
    const ports = [1, 2, 3, 4, 5].filter(() => this.#random.below(3) > 0);
    const endpoints = (ports.length === 0 ? [1] : ports).map(
      (port): EndpointOptions => ({
        ...{ host: '10.0.0.1', port, weight: 1 + this.#random.below(3), lookup: 'none' as never },
      }),
    );
    const part = alone({ ...thisMachine, clock: this.#clock });
    const next = new EndpointTransport(
      'api',
      { protocol: 'http1', connectTimeoutMs: 1_000 },
      {
        ...{ clock: this.#clock, random: () => this.#random.below(1_000) / 1_000, listener: SILENT },
        ...{ part, checks: new States(part, 'checks'), cookieKey: Buffer.alloc(32) },
        openSource: ({ host, port }) => new FixedEndpoints([{ host, port, weight: 1, name: host }]),
        openPool: ({ port }) => this.#poolOf(port),
      },
    );
    const balance = this.#random.below(2) === 0 ? 'caller' : 'least_requests';
    next.use({ endpoints, balance, health: null }, this.#transport);
    this.#transport = next;
  }

  #poolOf(port: number): EndpointPool {
    return {
      connections: 0,
      inFlight: 0,
      holdsFor: () => false,
      close: () => Promise.resolve(),
      send: (_: OutgoingRequest, sink: CallSink): TransportCall => {
        const attempt: Attempt = { port, sink };
        this.under.add(attempt);
        return { resume() {}, abort: () => void this.under.delete(attempt) };
      },
    };
  }

  step(): void {
    const chance = this.#random.below(100);
    if (chance < 1) this.reload();
    else if (chance < 10) this.#clock.advance(this.#random.below(3_000));
    else if (chance < 45) this.#send();
    else if (chance < 50) this.#giveUp();
    else this.#answer();
  }

  #send(): void {
    const client = new Client();
    this.clients.push(client);
    client.call = this.transport.send(GET, client, `caller-${this.#random.below(9)}`);
  }

  #giveUp(): void {
    const open = this.clients.filter(({ ends, isGivenUp }) => ends === 0 && !isGivenUp);
    const client = open[this.#random.below(Math.max(1, open.length))];
    if (client === undefined) return;
    client.isGivenUp = true;
    client.call?.abort();
    client.call?.abort();
  }

  #answer(): void {
    const attempt = [...this.under][this.#random.below(Math.max(1, this.under.size))];
    if (attempt === undefined) return;
    this.under.delete(attempt);
    const { sink } = attempt;
    const kind = this.#random.below(4);
    // What is sent again by then is the same client's.
    if (kind === 0) sink.whole([200, 404, 500, 503][this.#random.below(4)] ?? 200, '', [], '');
    else if (kind === 1) {
      sink.head(200, '', [], null);
      sink.end([]);
    } else sink.fail(this.#failure());
  }

  #failure(): UpstreamFailure {
    const kind = this.#random.pick([...KINDS]);
    const onReusedConnection = this.#random.below(2) === 0;
    return { kind, onReusedConnection, responseBegun: false, resetCode: null, cause: new Error(kind) };
  }

  finish(): void {
    for (const client of this.clients) if (client.ends === 0) client.call?.abort();
  }
}

it.each([1, 2, 3, 4, 5, 6])(
  'whatever happens, every request ends once and leaves nothing in flight (%i)',
  async seed => {
    const chaos = new Chaos(seed);
    chaos.reload();
    for (let i = 0; i < 4_000; i++) {
      chaos.step();
      // Requests that wait for another address go on.
      if (i % 10 === 0) await Promise.resolve();
    }
    await new Promise(resolve => setImmediate(resolve));
    for (const { ends, isGivenUp, isSentBack, failures } of chaos.clients) {
      expect(isSentBack).toBe(false);
      expect(ends).toBeLessThan(isGivenUp ? 1 : 2);
      // Three times in all, and once more at most after it may have arrived.
      expect(failures.length).toBeLessThan(4);
      expect(failures.slice(0, -1).filter(kind => kind !== 'connect').length).toBeLessThan(2);
    }
    chaos.finish();
    expect(chaos.under.size).toBe(0);
    for (const endpoint of chaos.transport.endpoints) expect(endpoint.inFlight).toBe(0);
  },
);
