import type { Snapshot } from '../../config/index.ts';
import {
  alone,
  type BodySource,
  type Fields,
  NO_NAMES,
  RpcCode,
  silent,
  thisMachine,
  withTimers,
} from '../../core/index.ts';
import type { Downstream, Exchange } from '../../gateway/index.ts';
import { ConnectionMemory, Gateway, UnlistedProxies } from '../../gateway/index.ts';
import { Limiting, Overload } from '../../gateway/runtime/index.ts';
import { NONE_ELSEWHERE } from '../../limits/index.ts';
import type { CallSink, Transport } from '../../upstream/index.ts';
import { requestFraming } from '../../wire/http1/index.ts';
import { VirtualClock } from '../simulation/index.ts';
import { type TestIdentity, type TestIssuer, testIdentity } from './test-identity.ts';

export interface Asked {
  readonly exchange: Exchange;
  readonly fields: Fields;
}

/**
 * A gateway in virtual time and without sockets, with the gates, limits and restrictions of a real one. Its services answer at once
 * with the response that the test defines; trailers follow when the request ends. Limits are counted in memory, and `patience` is
 * off.
 */
export class TestGateway {
  /** The issuers of the configuration, in its order; empty if it knows no tokens. */
  readonly issuers: readonly TestIssuer[];
  readonly #clock: VirtualClock;
  readonly #startMs: number;
  readonly #gateway: Gateway;
  #served: Served = { status: 200, head: [], trailers: [] };
  /** Ends the response whose trailers are yet to come. */
  #finish = () => {};
  /** The requests that are in flight, and when each ends. */
  #running: { readonly endsAtMs: number; readonly end: () => void }[] = [];

  private constructor(snapshot: Snapshot, clock: VirtualClock, identity: TestIdentity | null) {
    this.#clock = clock;
    this.#startMs = clock.epochMs();
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
      inFlightElsewhere: NONE_ELSEWHERE,
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

  /** @param startMs the start of virtual time */
  static async of(snapshot: Snapshot, startMs: number): Promise<TestGateway> {
    const clock = new VirtualClock(startMs);
    const { identity } = snapshot;
    return new TestGateway(snapshot, clock, identity && (await testIdentity(identity, withTimers(clock))));
  }

  /**
   * Sends a request and waits for the head of its response.
   *
   * @param atMs the time, in milliseconds since the test began
   * @param service what the service answers, if the request reaches it, and how long it takes
   */
  async ask(atMs: number, request: SentRequest, service: ServiceAnswer): Promise<Asked> {
    const nowMs = this.#startMs + atMs;
    this.#endUntil(nowMs);
    this.#clock.reach(nowMs);
    this.#served = servedTo(request, service);
    this.#finish = () => {};
    const downstream = new TestDownstream(request);
    const exchange = this.#gateway.accept(downstream);
    this.#gateway.run(exchange);
    await downstream.answered;
    const finish = this.#finish;
    const end = () => {
      finish();
      this.#gateway.over(exchange, true);
    };
    if (service.takesMs === 0 || exchange.response.error !== null) end();
    else this.#running.push({ endsAtMs: nowMs + service.takesMs, end });
    return { exchange, fields: downstream.received };
  }

  /** Ends what was in flight until now, each at its time. */
  #endUntil(ms: number): void {
    const ended = this.#running.filter(({ endsAtMs }) => endsAtMs <= ms);
    if (ended.length === 0) return;
    this.#running = this.#running.filter(({ endsAtMs }) => endsAtMs > ms);
    for (const { endsAtMs, end } of ended.toSorted((one, other) => one.endsAtMs - other.endsAtMs)) {
      this.#clock.reach(endsAtMs);
      end();
    }
  }

  #service(): Transport {
    const send = (_request: unknown, sink: CallSink) => {
      const { status, head, trailers } = this.#served;
      if (trailers.length === 0) {
        sink.whole(status, '', head, '');
      } else {
        sink.head(status, '', head, null);
        this.#finish = () => sink.end(trailers);
      }
      return { resume: () => {}, abort: () => {} };
    };
    return { send, connections: 0, close: () => Promise.resolve() };
  }
}

export interface ServiceAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly trailers: Readonly<Record<string, string>>;
  readonly takesMs: number;
}

/** A response as a transport passes it on. */
interface Served {
  readonly status: number;
  readonly head: Fields;
  readonly trailers: Fields;
}

function servedTo({ protocol }: SentRequest, { status, headers, trailers }: ServiceAnswer): Served {
  const [head, end] = [Object.entries(headers).flat(), Object.entries(trailers).flat()];
  const ends = end.length > 0;
  if (protocol === 'http1')
    return { status, head: [...(ends ? [] : ['Content-Length', '0']), ...head], trailers: end };
  const isToldStatus = [...head, ...end].some(
    (name, i) => i % 2 === 0 && name.toLowerCase() === 'grpc-status',
  );
  const told = isToldStatus ? [] : ['grpc-status', String(RpcCode.ok)];
  const call = ['content-type', 'application/grpc', ...head];
  return ends
    ? { status, head: call, trailers: [...told, ...end] }
    : { status, head: [...call, ...told], trailers: [] };
}

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
  readonly #answered = Promise.withResolvers<void>();

  constructor({ method, target, protocol, fields, peer }: SentRequest) {
    this.method = method;
    this.target = target;
    this.protocol = protocol;
    this.version = protocol === 'h2' ? '2' : '1.1';
    this.fields = fields;
    this.framing = requestFraming(fields, 1);
    this.peer = peer;
  }

  /** Resolves when the head of the response has arrived. */
  get answered(): Promise<void> {
    return this.#answered.promise;
  }

  body(): BodySource {
    throw new Error('a request of a test has no body');
  }

  neverIndex(): void {}

  answer(_status: number, _reason: string, fields: Fields): void {
    this.received = fields;
    this.#answered.resolve();
  }

  info(): void {}

  head(_status: number, _reason: string, fields: Fields): void {
    this.received = fields;
    this.#answered.resolve();
  }

  write(): boolean {
    return true;
  }

  end(): void {}

  switchProtocols(): boolean {
    return false;
  }

  abort(): void {
    this.#answered.resolve();
  }
}
