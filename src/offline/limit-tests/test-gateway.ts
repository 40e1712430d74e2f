import type { Snapshot } from '../../config/index.ts';
import {
  alone,
  type BodySource,
  type Fields,
  NO_NAMES,
  RpcCode,
  thisMachine,
  withTimers,
} from '../../core/index.ts';
import type { Downstream, Exchange } from '../../gateway/index.ts';
import { ConnectionMemory, Gateway, UnlistedProxies } from '../../gateway/index.ts';
import { Limiting, Overload } from '../../process/runtime/index.ts';
import type { CallSink, Transport } from '../../upstream/index.ts';
import { requestFraming } from '../../wire/http1/index.ts';
import { VirtualClock } from '../simulation/index.ts';
import { silent, type TestIdentity, type TestIssuer, testIdentity } from './test-identity.ts';

/** The start of virtual time. Any time will do, because a window opens with its first request. */
const START_MS = 1_800_000_000_000;

/** The response fields of the services: for HTTP, and for gRPC. */
const REQUEST: Fields = ['Content-Length', '0'];
const CALL: Fields = ['content-type', 'application/grpc', 'grpc-status', String(RpcCode.ok)];

export interface Asked {
  readonly exchange: Exchange;
  readonly fields: Fields;
}

/**
 * A gateway in virtual time and without sockets, with the gates, limits and restrictions of a real one. Its services answer at
 * once, with the status given in the test. It counts in memory, and `patience` is off.
 */
export class TestGateway {
  /** The issuers of the configuration, in its order; empty if it knows no tokens. */
  readonly issuers: readonly TestIssuer[];
  readonly #clock: VirtualClock;
  readonly #gateway: Gateway;
  /** The response of the services. */
  #served: { readonly status: number; readonly fields: Fields } = { status: 200, fields: [] };
  /** The requests that are in flight, and when each ends. */
  #running: { readonly endsAtMs: number; readonly exchange: Exchange }[] = [];

  private constructor(snapshot: Snapshot, clock: VirtualClock, identity: TestIdentity | null) {
    this.#clock = clock;
    this.issuers = identity?.issuers ?? [];
    const { limits, caps, upstreams } = snapshot;
    // Timers follow real time. That is harmless: no request of a test waits for one.
    const timed = withTimers(clock);
    const part = alone({ ...thisMachine, clock: timed });
    const limiting = new Limiting(limits, {
      ...thisMachine,
      clock: timed,
      listener: silent(),
      storeListener: silent(),
      limitKeys: caps.limitKeys,
      part,
    });
    const transports = upstreams.map(({ name }) => [name, { part: { transport: this.#service() } }] as const);
    this.#gateway = new Gateway({
      generation: {
        snapshot: { ...snapshot, limits: { ...limits, patienceMs: null } },
        identity: identity?.identity ?? null,
        transports: new Map(transports),
      },
      clock: timed,
      randomBytes: thisMachine.randomBytes,
      listener: silent(),
      nextRequestId: () => 'test',
      limiting,
      part,
      overload: new Overload(null, timed, silent()),
      unlistedProxies: new UnlistedProxies(clock, silent()),
    });
  }

  static async of(snapshot: Snapshot): Promise<TestGateway> {
    const clock = new VirtualClock(START_MS);
    const { identity } = snapshot;
    return new TestGateway(snapshot, clock, identity && (await testIdentity(identity, withTimers(clock))));
  }

  /**
   * Sends a request and waits for its response.
   *
   * @param atMs the time, in milliseconds since the test began
   * @param service the service's status, if the request reaches it, and how long it takes
   */
  async ask(atMs: number, request: SentRequest, service: ServiceAnswer): Promise<Asked> {
    this.#endUntil(START_MS + atMs);
    this.#clock.reach(START_MS + atMs);
    this.#served = { status: service.status, fields: request.protocol === 'h2' ? CALL : REQUEST };
    const downstream = new TestDownstream(request);
    const exchange = this.#gateway.accept(downstream);
    this.#gateway.run(exchange);
    await downstream.over;
    if (service.takesMs === 0 || exchange.response.error !== null) this.#gateway.over(exchange, true);
    else this.#running.push({ endsAtMs: START_MS + atMs + service.takesMs, exchange });
    return { exchange, fields: downstream.received };
  }

  /** Ends what was in flight until now, each at its time. */
  #endUntil(ms: number): void {
    const ended = this.#running.filter(({ endsAtMs }) => endsAtMs <= ms);
    if (ended.length === 0) return;
    this.#running = this.#running.filter(({ endsAtMs }) => endsAtMs > ms);
    for (const { endsAtMs, exchange } of ended.toSorted((one, other) => one.endsAtMs - other.endsAtMs)) {
      this.#clock.reach(endsAtMs);
      this.#gateway.over(exchange, true);
    }
  }

  get nowMs(): number {
    return this.#clock.monotonicMs();
  }

  #service(): Transport {
    const send = (_request: unknown, sink: CallSink) => {
      sink.whole(this.#served.status, '', this.#served.fields, '');
      return { resume: () => {}, abort: () => {} };
    };
    return { send, connections: 0, close: () => Promise.resolve() };
  }
}

/** A service's answer, and for how long the request is in flight. */
export interface ServiceAnswer {
  readonly status: number;
  readonly takesMs: number;
}

/** A request of a test, as it arrives on a connection. */
export interface SentRequest {
  readonly method: string;
  readonly target: string;
  /** `h2` means a gRPC call. */
  readonly protocol: 'http1' | 'h2';
  readonly fields: Fields;
  readonly peer: string;
}

/** The client's side of a request without a body, on its own connection. Keeps the response fields. */
class TestDownstream implements Downstream {
  readonly method: string;
  readonly target: string;
  readonly protocol: 'http1' | 'h2';
  readonly version: '1.1' | '2';
  readonly fields: Fields;
  readonly neverIndexed = NO_NAMES;
  readonly framing: Downstream['framing'];
  readonly peer: string;
  readonly scheme = 'https';
  readonly redirects = false;
  readonly onlyCalls = false;
  readonly clientCertificate = null;
  readonly memory = new ConnectionMemory(true);
  readonly bytesReceived = 0;
  readonly keeps = () => true;
  /** The fields of the response, as the gateway passes them to its listener. */
  received: Fields = [];
  readonly #over = Promise.withResolvers<void>();

  constructor({ method, target, protocol, fields, peer }: SentRequest) {
    this.method = method;
    this.target = target;
    this.protocol = protocol;
    this.version = protocol === 'h2' ? '2' : '1.1';
    this.fields = fields;
    this.framing = requestFraming(fields, 1);
    this.peer = peer;
  }

  /** Resolves when the response is complete. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  body(): BodySource {
    throw new Error('a request of a test has no body');
  }

  neverIndex(): void {}

  answer(_status: number, _reason: string, fields: Fields): void {
    this.received = fields;
    this.#over.resolve();
  }

  info(): void {}

  head(_status: number, _reason: string, fields: Fields): void {
    this.received = fields;
  }

  write(): boolean {
    return true;
  }

  end(): void {
    this.#over.resolve();
  }

  switchProtocols(): boolean {
    return false;
  }

  abort(): void {
    this.#over.resolve();
  }
}
