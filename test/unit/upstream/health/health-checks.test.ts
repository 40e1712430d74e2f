import { describe, expect, it } from 'vitest';
import { alone, States, thisMachine } from '../../../../src/core/index.ts';
import type { CheckTarget } from '../../../../src/upstream/health/check-request.ts';
import {
  type CheckedEndpoint,
  type CheckState,
  HealthChecks,
  type HealthOptions,
} from '../../../../src/upstream/health/health-checks.ts';
import type { CallSink, UpstreamFailure } from '../../../../src/upstream/index.ts';
import type { OutgoingRequest } from '../../../../src/wire/http1/index.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const PATH: CheckTarget = { kind: 'path', path: '/healthz?deep=1' };
const SERVICE: CheckTarget = { kind: 'service', service: 'pkg.Orders' };

const OPTIONS: HealthOptions = {
  ...{ target: PATH, host: 'api.test', everyMs: 5_000, timeoutMs: 2_000 },
  ...{ healthyAfter: 2, unhealthyAfter: 3 },
};

interface Sent {
  readonly request: OutgoingRequest;
  readonly sink: CallSink;
  aborted: boolean;
}

/** An endpoint without a network: the test answers its checks. */
class EndpointStub implements CheckedEndpoint {
  readonly address = { host: '10.0.0.1', port: 80 };
  readonly sent: Sent[] = [];
  /** How its health has changed. */
  readonly told: boolean[] = [];
  readonly health = {
    checked: (isHealthy: boolean) => {
      if (isHealthy !== (this.told.at(-1) ?? true)) this.told.push(isHealthy);
    },
  };
  readonly pool = {
    send: (request: OutgoingRequest, sink: CallSink) => {
      const sent: Sent = { request, sink, aborted: false };
      this.sent.push(sent);
      const abort = () => {
        sent.aborted = true;
      };
      return { resume() {}, abort };
    },
  };

  get last(): Sent {
    const last = this.sent.at(-1);
    if (last === undefined) throw new Error('no check was sent');
    return last;
  }

  answer(status: number): void {
    this.last.sink.whole(status, '', [], '');
  }

  fail(kind: UpstreamFailure['kind'], message: string): void {
    const code = message.split(' ').at(-1);
    const cause = Object.assign(new Error(message), { code });
    const failure = { onReusedConnection: false, responseBegun: false, resetCode: null };
    this.last.sink.fail({ ...failure, kind, cause });
  }
}

function setUp(options: HealthOptions = OPTIONS) {
  const clock = new FrozenClock();
  const endpoint = new EndpointStub();
  const unreached: object[] = [];
  const part = alone({ ...thisMachine, clock });
  const states = new States<CheckState>(part, 'checks');
  const checks = new HealthChecks({ upstream: 'api', clock, random: () => 0, part, states });
  const use = (now: HealthOptions, endpoints: readonly EndpointStub[]) =>
    checks.use(now, new Map(endpoints.map((endpoint, index) => [`${index}`, endpoint])), address => {
      unreached.push(address);
    });
  use(options, [endpoint]);
  /** Answers this check, and waits for the next. */
  const answer = (...statuses: number[]) => {
    for (const status of statuses) {
      endpoint.answer(status);
      clock.advance(5_000);
    }
  };
  return { clock, endpoint, unreached, checks, use, answer };
}

describe('the health checks of an endpoint', () => {
  it('ask for a path at once and every so often, with nothing of a client', () => {
    const { clock, endpoint } = setUp();
    expect(endpoint.sent.length).toBe(1);
    const { method, target, fields, body } = endpoint.last.request;
    expect({ method, target, fields, body }).toEqual({
      ...{ method: 'GET', target: '/healthz?deep=1', body: null },
      fields: ['Host', 'api.test', 'User-Agent', 'weir'],
    });
    endpoint.answer(200);
    clock.advance(4_999);
    expect(endpoint.sent.length).toBe(1);
    clock.advance(1);
    expect(endpoint.sent.length).toBe(2);
  });

  it('take an endpoint out after three failures in a row, and back after two good answers in a row', () => {
    const { endpoint, checks, answer } = setUp();
    answer(200, 500, 503, 204, 404, 302);
    expect(endpoint.told).toEqual([]);
    expect(checks.failureOf(endpoint)).toBe('it answered 302');
    answer(500);
    expect(endpoint.told).toEqual([false]);
    answer(200, 500, 200, 299);
    expect(endpoint.told).toEqual([false, true]);
    expect(checks.failureOf(endpoint)).toBeNull();
  });

  it('give up an answer that takes too long, and take nothing from it afterwards', () => {
    const { clock, endpoint, checks } = setUp({ ...OPTIONS, unhealthyAfter: 1 });
    endpoint.last.sink.head(200, '', [], null);
    clock.advance(1_999);
    expect(endpoint.last.aborted).toBe(false);
    clock.advance(1);
    expect(endpoint.last.aborted).toBe(true);
    expect(endpoint.told).toEqual([false]);
    expect(checks.failureOf(endpoint)).toBe('it did not answer within 2000 ms');
    const [late] = endpoint.sent;
    clock.advance(3_000);
    late?.sink.end([]);
    expect(checks.failureOf(endpoint)).toBe('it did not answer within 2000 ms');
  });

  it('never run two at a time, however close together they are', () => {
    const { clock, endpoint } = setUp({ ...OPTIONS, everyMs: 1_000, timeoutMs: 999 });
    for (let i = 0; i < 10; i++) {
      clock.advance(999);
      expect(endpoint.sent.filter(({ aborted }) => !aborted)).toHaveLength(0);
      clock.advance(1);
    }
    expect(endpoint.sent).toHaveLength(11);
  });

  it('have the name looked up again if no connection can be made', () => {
    const { clock, endpoint, checks, unreached } = setUp();
    endpoint.fail('reset', 'gone');
    clock.advance(5_000);
    expect(unreached).toEqual([]);
    endpoint.fail('connect', 'connect ECONNREFUSED');
    expect(unreached).toEqual([{ host: '10.0.0.1', port: 80 }]);
    expect(checks.failureOf(endpoint)).toBe('connect ECONNREFUSED');
  });

  it('say nothing of an endpoint that the gateway had no descriptor to connect to', () => {
    const { clock, endpoint, checks, unreached } = setUp({ ...OPTIONS, unhealthyAfter: 1 });
    endpoint.answer(200);
    clock.advance(5_000);
    endpoint.fail('connect', 'connect EMFILE');
    expect([endpoint.told, unreached, checks.failureOf(endpoint)]).toEqual([[], [], null]);
    clock.advance(5_000);
    endpoint.fail('connect', 'connect ECONNREFUSED');
    expect(endpoint.told).toEqual([false]);
  });

  it('end with the endpoint, about which nothing more is said', () => {
    const { clock, endpoint, use, answer } = setUp();
    answer(500, 500, 500);
    use(OPTIONS, []);
    expect(endpoint.told).toEqual([false]);
    expect(endpoint.last.aborted).toBe(true);
    const { length } = endpoint.sent;
    clock.advance(60_000);
    expect(endpoint.sent.length).toBe(length);
  });

  it('go on as they were for endpoints that stay, and begin anew in another way', () => {
    const { endpoint, use } = setUp();
    const other = new EndpointStub();
    use({ ...OPTIONS }, [endpoint, other]);
    expect([endpoint.sent.length, other.sent.length]).toEqual([1, 1]);
    use({ ...OPTIONS, target: { kind: 'path', path: '/' } }, [endpoint, other]);
    expect([endpoint.sent.length, other.sent.length]).toEqual([2, 2]);
    expect(endpoint.sent[0]?.aborted).toBe(true);
  });
});

describe('the health checks of a service of gRPC', () => {
  /** An answer with this status, and `HealthCheckResponse` with this one. */
  function answer(endpoint: EndpointStub, code: string, message: number[]): void {
    const { sink } = endpoint.last;
    sink.head(200, '', ['content-type', 'application/grpc'], null);
    sink.data(Buffer.from([0, 0, 0, 0, message.length, ...message]), null);
    sink.end(['grpc-status', code]);
  }

  it('ask grpc.health.v1 for the service', () => {
    const { endpoint } = setUp({ ...OPTIONS, target: SERVICE });
    const { request } = endpoint.last;
    const pieces: Buffer[] = [];
    const take = (bytes: Buffer) => pieces.push(bytes) > 0;
    request.body?.start({ chunk: take, end() {}, fail() {} });
    expect(request.target).toBe('/grpc.health.v1.Health/Check');
    expect(request.takesTrailers).toBe(true);
    expect(Buffer.concat(pieces).toString('latin1')).toBe('\0\0\0\0\x0c\x0a\x0apkg.Orders');
    expect(request.bodyLength).toBe(17);
  });

  it('take SERVING for healthy, and anything else for a failure', () => {
    const { clock, endpoint, checks } = setUp({ ...OPTIONS, target: SERVICE });
    const failures = [
      ['0', [8, 1]],
      ['0', [8, 2]],
      ['0', []],
      ['12', []],
      ['99', [8, 1]],
    ] as const;
    const found = failures.map(([code, message]) => {
      answer(endpoint, code, [...message]);
      clock.advance(5_000);
      return checks.failureOf(endpoint);
    });
    expect(found).toEqual([
      null,
      'it is NOT_SERVING',
      'it is UNKNOWN',
      'it answered UNIMPLEMENTED',
      'it answered with an unknown gRPC status',
    ]);
    endpoint.last.sink.whole(200, '', ['grpc-status', '14'], '');
    expect(checks.failureOf(endpoint)).toBe('it answered UNAVAILABLE');
  });
});
