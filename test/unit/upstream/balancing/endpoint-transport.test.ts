import { beforeEach, describe, expect, it } from 'vitest';
import { alone, States, thisMachine } from '../../../../src/core/index.ts';
import { type Balance, EndpointTransport } from '../../../../src/upstream/balancing/index.ts';
import {
  type EndpointSource,
  FixedEndpoints,
  type SourcedEndpoint,
} from '../../../../src/upstream/endpoint-source.ts';
import type { HealthOptions } from '../../../../src/upstream/health/index.ts';
import {
  BrokenRequest,
  type CallSink,
  type ConnectionOwner,
  type EndpointAddress,
  type EndpointOptions,
  type EndpointPool,
  type Resender,
  SilentResponse,
  type TransportCall,
  type UpstreamFailure,
} from '../../../../src/upstream/transport.ts';
import type { OutgoingRequest } from '../../../../src/wire/http1/index.ts';
import { GET } from '../../../support/get-request.ts';
import { MemoryStream } from '../../../support/memory-stream.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

/** A request at a pool. */
interface Sent {
  readonly sink: CallSink;
  isAborted: boolean;
}

/** A pool without a network: the test answers, and says when it has closed. */
class PoolStub implements EndpointPool {
  readonly sent: Sent[] = [];
  readonly gone = Promise.withResolvers<void>();
  connections = 1;
  inFlight = 0;
  isClosing = false;
  /** The owner of a connection of this pool. */
  owner: ConnectionOwner | null = null;

  send(_: OutgoingRequest, sink: CallSink): TransportCall {
    const sent: Sent = { sink, isAborted: false };
    this.sent.push(sent);
    const abort = () => {
      sent.isAborted = true;
    };
    return { resume() {}, abort };
  }

  holdsFor(owner: ConnectionOwner): boolean {
    return this.owner === owner;
  }

  close(): Promise<void> {
    this.isClosing = true;
    return this.gone.promise;
  }

  get last(): Sent {
    const last = this.sent.at(-1);
    if (last === undefined) throw new Error('nothing was sent here');
    return last;
  }
}

/** The forwarder's side: sends again whatever may be. */
class Sink implements CallSink {
  owner: ConnectionOwner | null = null;
  isPrivate = false;
  marks: readonly string[] = [];
  call: TransportCall | null = null;
  readonly failures: UpstreamFailure[] = [];
  status = 0;
  sendsAgain = true;
  info(): void {}
  neverIndex(): void {}
  switched(): void {}
  end(): void {}
  data(): boolean {
    return true;
  }
  whole(status: number): void {
    this.status = status;
  }
  head(status: number): void {
    this.status = status;
  }
  fail(failure: UpstreamFailure, resender?: Resender): void {
    this.failures.push(failure);
    const again = this.sendsAgain ? (resender?.resend(failure) ?? null) : null;
    if (again !== null) this.call = again;
    else this.status = 502;
  }
}

/** Addresses of a name that the test looks up. */
class NameStub implements EndpointSource {
  endpoints: readonly SourcedEndpoint[] = [];
  fault: Error | null = null;
  changed: () => void = () => {};
  isStarted = false;
  isClosed = false;
  readonly refreshed: (EndpointAddress | null)[] = [];
  lookup = Promise.withResolvers<void>();

  start(changed: () => void): void {
    this.isStarted = true;
    this.changed = changed;
  }

  refresh(failed: EndpointAddress | null): Promise<void> {
    this.refreshed.push(failed);
    return this.lookup.promise;
  }

  close(): void {
    this.isClosed = true;
  }

  found(...ports: number[]): void {
    this.endpoints = ports.map(port => ({ host: '10.0.0.1', port, weight: 1, name: 'api' }));
    this.changed();
    this.lookup.resolve();
    this.lookup = Promise.withResolvers();
  }
}

const OWN_KEY = Buffer.alloc(32, 'own');

let clock: FrozenClock;
let pools: Map<number, PoolStub>;
let names: NameStub[];
let heard: string[];
let transport: EndpointTransport;
let latest: EndpointTransport | null;

beforeEach(() => {
  clock = new FrozenClock();
  pools = new Map();
  names = [];
  heard = [];
  latest = null;
});

function open(): EndpointTransport {
  const part = alone({ ...thisMachine, clock });
  return new EndpointTransport(
    'api',
    { protocol: 'http1', connectTimeoutMs: 60_000 },
    {
      ...{ clock, random: () => 0, part, checks: new States(part, 'checks'), cookieKey: OWN_KEY },
      listener: {
        endpointChanged: ({ endpoint, reason }) => void heard.push(`${endpoint} ${reason ?? 'back'}`),
        retried: (_upstream, wasAllowed) => void heard.push(wasAllowed ? 'retried' : 'not retried'),
        addressesChanged() {},
        lookupFailed() {},
        lookupWorks() {},
      },
      openPool: ({ port }) => {
        const pool = new PoolStub();
        pools.set(port, pool);
        return pool;
      },
      openSource: ({ host, port }) => {
        if (host !== 'name') return new FixedEndpoints([{ host, port, weight: 1, name: host }]);
        const name = new NameStub();
        names.push(name);
        return name;
      },
    },
  );
}

/** Takes these addresses into use, as a start or a reload does. */
function use(
  endpoints: readonly EndpointOptions[],
  balance: Balance = 'least_requests',
  health: HealthOptions | null = null,
): void {
  transport = open();
  transport.use({ endpoints, balance, health }, latest);
  latest = transport;
}

const at = (port: number, weight = 1): EndpointOptions => ({
  host: '10.0.0.1',
  port,
  weight,
  lookup: 'system',
});
const named = (weight: number): EndpointOptions => ({ ...at(80, weight), host: 'name' });
const useNow = (...ports: number[]) => use(ports.map(port => at(port)));
const pool = (port: number): PoolStub => {
  const found = pools.get(port);
  if (found === undefined) throw new Error(`no pool for ${port}`);
  return found;
};
const failed = (kind: UpstreamFailure['kind'], more: Partial<UpstreamFailure> = {}): UpstreamFailure => ({
  ...{ kind, onReusedConnection: false, responseBegun: false, resetCode: null, cause: new Error(kind) },
  ...more,
});
const send = (...marks: string[]): Sink => {
  const sink = new Sink();
  sink.marks = marks;
  sink.call = transport.send(GET, sink, 'caller');
  return sink;
};
/** The port that a request went to. */
const portOf = ({ call }: Sink) => Number(call?.endpoint?.split(':')[1] ?? 0);
const settled = () => new Promise(resolve => setImmediate(resolve));
const outside = () => transport.endpoints.filter(({ isOut }) => isOut).map(({ name }) => name);

function endOfBody({ sink }: Sent): void {
  sink.head(200, '', [], null);
  sink.end([]);
}

describe('the endpoints of an upstream', () => {
  it('share its requests by what is in flight', () => {
    useNow(1, 2);
    for (let i = 0; i < 10; i++) send();
    expect([pool(1).sent.length, pool(2).sent.length]).toEqual([5, 5]);
    for (const { sink } of pool(1).sent) sink.whole(200, '', [], '');
    for (let i = 0; i < 4; i++) expect(portOf(send())).toBe(1);
  });

  it('are not counted among, if there is one address alone', () => {
    useNow(1);
    const sink = new Sink();
    transport.send(GET, sink, 'caller');
    expect(pool(1).last.sink).toBe(sink);
  });

  it('get the requests of a client who owns a connection there', () => {
    useNow(1, 2);
    const owner: ConnectionOwner = { keep: () => true, lost: () => {} };
    pool(2).owner = owner;
    for (let i = 0; i < 4; i++) {
      const sink = new Sink();
      sink.owner = owner;
      sink.isPrivate = i === 3;
      sink.call = transport.send(GET, sink, 'caller');
      expect(portOf(sink)).toBe(2);
      // The pool asks the attempt, not the request's sink.
      expect([pool(2).last.sink.owner, pool(2).last.sink.isPrivate]).toEqual([owner, sink.isPrivate]);
    }
  });

  it.each([
    ['a whole response', ({ sink }: Sent) => sink.whole(200, '', [], '')],
    ['the end of a body', endOfBody],
    [
      'a request that the client broke',
      ({ sink }: Sent) => sink.fail(failed('reset', { cause: new BrokenRequest() })),
    ],
  ])('have one request less in flight after %s', (_, answer) => {
    useNow(1, 2);
    const sink = send();
    sink.sendsAgain = false;
    expect(transport.endpoints.map(({ inFlight }) => inFlight)).toEqual([1, 0]);
    answer(pool(portOf(sink)).last);
    expect(transport.endpoints.map(({ inFlight }) => inFlight)).toEqual([0, 0]);
  });

  it('carry a WebSocket until its connection is gone', () => {
    useNow(1, 2);
    const { call } = send();
    const stream = new MemoryStream();
    pool(1).last.sink.switched([], stream);
    // The exchange is over, the WebSocket is not.
    call?.abort();
    expect(transport.endpoints.map(({ inFlight }) => inFlight)).toEqual([1, 0]);
    expect(pool(1).last.isAborted).toBe(false);
    stream.vanish();
    expect(transport.endpoints.map(({ inFlight }) => inFlight)).toEqual([0, 0]);
  });

  it('have one request less in flight when the client gives it up, however often it does', () => {
    useNow(1, 2);
    const sink = send();
    sink.call?.abort();
    sink.call?.abort();
    expect(pool(1).last.isAborted).toBe(true);
    expect(transport.endpoints.map(({ inFlight }) => inFlight)).toEqual([0, 0]);
    expect(transport.endpoints.map(endpoint => endpoint.load(clock.monotonicMs()))).toEqual([0, 0]);
  });

  it('attract nobody by failing fast: a failure counts as in flight for another second', () => {
    useNow(1, 2);
    const sink = send();
    sink.sendsAgain = false;
    pool(1).last.sink.fail(failed('connect'));
    for (let i = 0; i < 3; i++) {
      const next = send();
      expect(portOf(next)).toBe(2);
      pool(2).last.sink.whole(200, '', [], '');
    }
    clock.advance(1_250);
    expect(portOf(send())).toBe(1);
  });
});

describe('a request that failed', () => {
  it('goes to another endpoint, and to each only once', () => {
    useNow(1, 2, 3);
    const sink = send();
    const ports = [portOf(sink)];
    for (let i = 0; i < 2; i++) {
      pool(portOf(sink)).last.sink.fail(failed('connect'));
      ports.push(portOf(sink));
    }
    expect(ports.toSorted()).toEqual([1, 2, 3]);
    pool(portOf(sink)).last.sink.fail(failed('connect'));
    expect(sink.status).toBe(502);
  });

  it('is sent no more than three times, however many endpoints there are', () => {
    useNow(1, 2, 3, 4, 5);
    const sink = send();
    while (sink.status === 0) pool(portOf(sink)).last.sink.fail(failed('connect'));
    expect(sink.failures).toHaveLength(3);
  });

  it('and may have arrived is sent once more at most', () => {
    useNow(1, 2, 3);
    const sink = send();
    pool(portOf(sink)).last.sink.fail(failed('connect'));
    pool(portOf(sink)).last.sink.fail(failed('reset'));
    expect(sink.status).toBe(0);
    pool(portOf(sink)).last.sink.fail(failed('reset'));
    expect([sink.status, sink.failures.length]).toEqual([502, 3]);

    const other = send();
    pool(portOf(other)).last.sink.fail(failed('reset'));
    pool(portOf(other)).last.sink.fail(failed('refused'));
    expect([other.status, other.failures.length]).toEqual([502, 2]);
  });

  it('is not sent again once the budget is spent, unless no connection was made', () => {
    useNow(1, 2);
    for (let i = 0; i < 12; i++) {
      const sink = send();
      pool(portOf(sink)).last.sink.fail(failed('refused'));
      expect(sink.status).toBe(i < 10 ? 0 : 502);
      if (i < 10) pool(portOf(sink)).last.sink.whole(200, '', [], '');
    }
    expect(heard).toEqual([...new Array(10).fill('retried'), 'not retried', 'not retried']);
    const sink = send();
    pool(portOf(sink)).last.sink.fail(failed('connect'));
    expect(sink.status).toBe(0);
  });

  it('is sent to the only endpoint of a name once more where that closed an idle connection', async () => {
    use([named(1)]);
    names[0]?.found(1);
    const sink = send();
    pool(1).last.sink.fail(failed('reset', { onReusedConnection: true }));
    expect(pool(1).sent).toHaveLength(2);
    pool(1).last.sink.fail(failed('reset', { onReusedConnection: true }));
    expect([sink.status, pool(1).sent.length]).toEqual([502, 2]);
    const fresh = send();
    pool(1).last.sink.fail(failed('reset'));
    expect([fresh.status, pool(1).sent.length]).toEqual([502, 3]);
  });
});

describe('an endpoint', () => {
  const times = (count: number, port: number, answer: (sent: Sent) => void) => {
    const sinks: Sink[] = [];
    while (pool(port).sent.length < count) sinks.push(send());
    for (const sink of sinks) sink.sendsAgain = false;
    for (const sent of pool(port).sent) answer(sent);
  };

  it.each([502, 503, 504])('that answers %i five times in a row is left out', status => {
    useNow(1, 2, 3);
    times(5, 1, ({ sink }) => sink.whole(status, '', [], ''));
    expect(outside()).toEqual(['10.0.0.1:1']);
    expect(heard).toEqual(['10.0.0.1:1 bad_answers']);
    for (let i = 0; i < 20; i++) expect(portOf(send())).not.toBe(1);
    clock.advance(10_000);
    expect(outside()).toEqual([]);
    expect(heard.at(-1)).toBe('10.0.0.1:1 back');
  });

  it.each(['reset', 'timeout', 'malformed', 'truncated'] as const)(
    'with five failures "%s" is left out',
    kind => {
      useNow(1, 2, 3);
      times(5, 1, ({ sink }) => sink.fail(failed(kind)));
      expect(outside()).toEqual(['10.0.0.1:1']);
    },
  );

  it('that ends requests by an error of its own is left out', () => {
    useNow(1, 2, 3);
    times(5, 1, ({ sink }) => sink.fail(failed('reset', { resetCode: 2 })));
    expect(outside()).toEqual(['10.0.0.1:1']);
  });

  it('that cannot be connected to is left out after three times', () => {
    useNow(1, 2, 3);
    times(3, 1, ({ sink }) => sink.fail(failed('connect')));
    expect(heard).toEqual(['10.0.0.1:1 connect_failures']);
  });

  it.each([
    ['errors that are no trouble of the endpoint', ({ sink }: Sent) => sink.whole(500, '', [], '')],
    ['requests that were refused unread', ({ sink }: Sent) => sink.fail(failed('refused'))],
    [
      'idle connections that were closed',
      ({ sink }: Sent) => sink.fail(failed('reset', { onReusedConnection: true })),
    ],
    [
      'bodies that a client broke off',
      ({ sink }: Sent) => sink.fail(failed('reset', { cause: new BrokenRequest() })),
    ],
    [
      'calls that were cancelled for their deadline',
      ({ sink }: Sent) => sink.fail(failed('reset', { resetCode: 8 })),
    ],
    ['requests that it finds wrong', ({ sink }: Sent) => sink.fail(failed('malformed', { resetCode: 1 }))],
    [
      'streams that are silent for too long',
      ({ sink }: Sent) => sink.fail(failed('truncated', { cause: new SilentResponse() })),
    ],
    ['requests that are too large for it', ({ sink }: Sent) => sink.fail(failed('oversized'))],
    [
      'connections for which the gateway has no descriptor left',
      ({ sink }: Sent) =>
        sink.fail(
          failed('connect', { cause: Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' }) }),
        ),
    ],
    ['faults of the gateway', ({ sink }: Sent) => sink.fail(failed('fault'))],
  ])('stays for %s', (_, answer) => {
    useNow(1, 2, 3);
    times(20, 1, answer);
    expect(outside()).toEqual([]);
  });

  it('that answers badly attracts nobody either', () => {
    useNow(1, 2);
    const sink = send();
    expect(portOf(sink)).toBe(1);
    pool(1).last.sink.whole(503, '', [], '');
    for (let i = 0; i < 3; i++) {
      expect(portOf(send())).toBe(2);
      pool(2).last.sink.whole(200, '', [], '');
    }
  });

  it('counts one bad answer for a response that is bad and breaks off', () => {
    useNow(1, 2, 3);
    times(4, 1, ({ sink }) => {
      sink.head(503, '', [], 10);
      sink.fail(failed('truncated'));
    });
    expect(outside()).toEqual([]);
  });

  it('stays in use with every other one, where more than half would be left out', () => {
    useNow(1, 2);
    times(3, 1, ({ sink }) => sink.fail(failed('connect')));
    times(3, 2, ({ sink }) => sink.fail(failed('connect')));
    expect(outside()).toEqual(['10.0.0.1:1']);
  });
});

describe('addresses that change', () => {
  it('keep the connections of those that stay, and drain the others', async () => {
    useNow(1, 2);
    const [first, second] = [pool(1), pool(2)];
    const sinks = [send(), send()];
    useNow(2, 3);
    expect([first.isClosing, second.isClosing]).toEqual([true, false]);
    expect(pool(2)).toBe(second);
    expect(transport.connections).toBe(3);
    const last = sinks.find(sink => portOf(sink) === 1);
    first.last.sink.whole(200, '', [], '');
    expect(last?.status).toBe(200);
    for (let i = 0; i < 10; i++) expect(portOf(send())).not.toBe(1);
    first.gone.resolve();
    await settled();
    expect(transport.connections).toBe(2);
  });

  it('keep what is known of the health of those that stay', () => {
    useNow(1, 2, 3);
    for (let i = 0; i < 9; i++) send().sendsAgain = false;
    for (const { sink } of pool(1).sent) sink.fail(failed('connect'));
    expect(outside()).toEqual(['10.0.0.1:1']);
    useNow(1, 2, 3, 4);
    expect(outside()).toEqual(['10.0.0.1:1']);
  });

  it('leave what began before a reload to the addresses of then', () => {
    useNow(1);
    const before = transport;
    useNow(2);
    expect([pool(1).isClosing, pool(2).isClosing]).toEqual([true, false]);
    before.send(GET, new Sink(), 'caller');
    expect([pool(1).sent.length, pool(2).sent.length]).toEqual([1, 0]);
  });

  it('that the system finds later are followed by the latest configuration alone', () => {
    use([named(1)]);
    names[0]?.found(1);
    const before = transport;
    use([named(1), at(9)]);
    names[0]?.found(2);
    expect(before.endpoints.map(({ name }) => name)).toEqual(['10.0.0.1:1']);
    expect(transport.endpoints.map(({ name }) => name)).toEqual(['10.0.0.1:2', '10.0.0.1:9']);
    expect(pool(1).isClosing).toBe(true);
  });

  it('have their failures heard by the latest configuration', () => {
    useNow(1, 2, 3);
    useNow(1, 2, 3, 4);
    for (let i = 0; i < 40; i++) send().sendsAgain = false;
    for (const { sink } of pool(1).sent) sink.fail(failed('connect'));
    expect(heard).toEqual(['10.0.0.1:1 connect_failures']);
    const before = pool(1).sent.length;
    for (let i = 0; i < 400; i++) send();
    expect(pool(1).sent.length).toBe(before);
  });

  it('are left out for what began before a reload as well, once they fail after it, and used again once they are back', () => {
    useNow(1, 2, 3);
    const before = transport;
    for (let i = 0; i < 9; i++) send();
    useNow(1, 2, 3, 4);
    const sendAsBefore = () => {
      const sink = new Sink();
      sink.call = before.send(GET, sink, 'caller');
      return portOf(sink);
    };
    for (let i = 0; i < 40; i++) send().sendsAgain = false;
    for (const { sink } of pool(1).sent.slice(-3)) sink.fail(failed('connect'));
    expect(heard).toEqual(['10.0.0.1:1 connect_failures']);
    expect(new Set(Array.from({ length: 50 }, sendAsBefore))).toEqual(new Set([2, 3]));
    clock.advance(10_000);
    // It is back, and its share grows.
    sendAsBefore();
    clock.advance(30_000);
    expect(new Set(Array.from({ length: 50 }, sendAsBefore))).toContain(1);
  });

  it('share what may be sent again with what began before a reload', () => {
    useNow(1, 2);
    for (let i = 0; i < 10; i++) {
      const sink = send();
      pool(portOf(sink)).last.sink.fail(failed('refused'));
      pool(portOf(sink)).last.sink.whole(200, '', [], '');
    }
    useNow(1, 2, 3);
    const sink = send();
    pool(portOf(sink)).last.sink.fail(failed('refused'));
    expect(heard).toEqual([...new Array(10).fill('retried'), 'not retried']);
  });

  it('get the weights of all names that lead to them', () => {
    use([
      { host: 'name', port: 80, weight: 2, lookup: 'system' },
      { host: 'name', port: 81, weight: 3, lookup: 'system' },
      at(9),
    ]);
    for (const name of names) name.found(1);
    expect(transport.endpoints.map(({ name, weight }) => [name, weight])).toEqual([
      ['10.0.0.1:1', 5],
      ['10.0.0.1:9', 1],
    ]);
  });

  it('take other weights without other connections', () => {
    use([at(1), at(2)]);
    const before = [pool(1), pool(2)];
    use([at(1, 3), at(2)]);
    expect([pool(1), pool(2)]).toEqual(before);
    for (let i = 0; i < 40; i++) send();
    expect(pool(1).sent.length).toBe(30);
  });

  it('let newcomers among others begin with a small share', () => {
    useNow(1, 2);
    expect(transport.endpoints.map(endpoint => endpoint.share(clock.monotonicMs()))).toEqual([1, 1]);
    useNow(1, 2, 3);
    expect(transport.endpoints.map(endpoint => endpoint.share(clock.monotonicMs()))).toEqual([1, 1, 0.1]);
  });

  it('of a name are connected to with the certificate of that name', () => {
    use([named(1)]);
    const [name] = names as [NameStub];
    name.found(1);
    const first = pool(1);
    name.endpoints = name.endpoints.map(endpoint => ({ ...endpoint, name: 'other' }));
    name.changed();
    expect(first.isClosing).toBe(true);
    expect(pool(1)).not.toBe(first);
  });
});

it('names that are looked up at the start have their whole share at once, whichever is found first', () => {
  use([
    { host: 'name', port: 80, weight: 1, lookup: 'system' },
    { host: 'name', port: 81, weight: 1, lookup: 'system' },
  ]);
  names[0]?.found(1);
  names[1]?.found(2);
  const shares = () => transport.endpoints.map(endpoint => endpoint.share(clock.monotonicMs()));
  expect(shares()).toEqual([1, 1]);
  names[1]?.found(2, 3);
  expect(shares()).toEqual([1, 1, 0.1]);
});

describe('a name', () => {
  beforeEach(() => use([named(2)]));

  it('is looked up from its use on, and until it is closed', async () => {
    const [name] = names as [NameStub];
    expect(name.isStarted).toBe(true);
    void transport.close();
    expect(name.isClosed).toBe(true);
    name.found(1);
    expect(transport.endpoints).toEqual([]);
  });

  it('that stays is not looked up anew at a reload', () => {
    use([named(5), at(9)], 'caller');
    expect(names).toHaveLength(1);
    names[0]?.found(1);
    expect(transport.endpoints.map(({ name, weight }) => [name, weight])).toEqual([
      ['10.0.0.1:1', 5],
      ['10.0.0.1:9', 1],
    ]);
    use([at(9)], 'caller');
    expect(names[0]?.isClosed).toBe(true);
    names[0]?.found(1, 2);
    expect(transport.endpoints.map(({ name }) => name)).toEqual(['10.0.0.1:9']);
  });

  it('without an address yet makes requests wait', async () => {
    const sink = send();
    expect(names[0]?.refreshed).toEqual([null]);
    names[0]?.found(1);
    await settled();
    pool(1).last.sink.whole(200, '', [], '');
    expect(sink.status).toBe(200);
  });

  it('that is not found fails the requests that wait, with the reason', async () => {
    const sink = send();
    const [name] = names as [NameStub];
    name.fault = new Error('ENOTFOUND');
    name.lookup.resolve();
    await settled();
    name.lookup = Promise.withResolvers();
    expect(sink.failures.map(({ kind, cause }) => [kind, String(cause)])).toEqual([
      ['connect', 'Error: ENOTFOUND'],
    ]);
    expect(sink.status).toBe(502);
  });

  it('is not waited for by a request that was given up', async () => {
    const sink = send();
    sink.call?.abort();
    names[0]?.found(1);
    await settled();
    expect(pool(1).sent).toHaveLength(0);
    expect(sink.status).toBe(0);
  });

  it('is looked up again after a failed connect, and the request goes to the address that is found', async () => {
    names[0]?.found(1);
    const sink = send();
    pool(1).last.sink.fail(failed('connect'));
    expect(names[0]?.refreshed).toEqual([{ host: '10.0.0.1', port: 1 }]);
    names[0]?.found(2);
    await settled();
    expect(portOf(sink)).toBe(2);
    pool(2).last.sink.whole(200, '', [], '');
    expect(sink.status).toBe(200);
  });

  it('is not told of an address that the gateway had no descriptor to connect to', () => {
    names[0]?.found(1);
    send();
    const cause = Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' });
    pool(1).last.sink.fail(failed('connect', { cause }));
    expect(names[0]?.refreshed).toEqual([null]);
    names[0]?.found(1, 2);
    const sink = send();
    pool(portOf(sink)).last.sink.fail(failed('connect', { cause }));
    expect(names[0]?.refreshed).toEqual([null]);
  });

  it('that has no other address is connected to once more', async () => {
    names[0]?.found(1);
    const sink = send();
    pool(1).last.sink.fail(failed('connect'));
    names[0]?.found(1);
    await settled();
    expect(pool(1).sent).toHaveLength(2);
    pool(1).last.sink.fail(failed('connect'));
    names[0]?.found(1);
    await settled();
    expect([sink.status, pool(1).sent.length]).toEqual([502, 2]);
  });
});

describe('addresses that are checked', () => {
  const HEALTH: HealthOptions = {
    ...{ target: { kind: 'path', path: '/h' }, host: 'api', everyMs: 5_000, timeoutMs: 2_000 },
    ...{ healthyAfter: 2, unhealthyAfter: 1 },
  };
  const checked = (...ports: number[]) =>
    use(
      ports.map(port => at(port)),
      'least_requests',
      HEALTH,
    );
  const answerCheck = (port: number, status: number) => pool(port).last.sink.whole(status, '', [], '');

  it('get no requests while they fail, also after a reload', () => {
    checked(1, 2);
    answerCheck(1, 500);
    answerCheck(2, 200);
    expect(heard).toEqual(['10.0.0.1:1 check']);
    checked(1, 2, 3);
    answerCheck(3, 200);
    const before = pool(1).sent.length;
    for (let i = 0; i < 20; i++) send();
    expect(pool(1).sent).toHaveLength(before);
    expect(heard).toEqual(['10.0.0.1:1 check']);
    expect(transport.state.endpoints.map(({ name, outFor, why }) => [name, outFor, why])).toEqual([
      ['10.0.0.1:1', 'check', 'it answered 500'],
      ['10.0.0.1:2', null, null],
      ['10.0.0.1:3', null, null],
    ]);
  });

  it('are used again when they are not checked any more', () => {
    checked(1, 2);
    answerCheck(1, 500);
    useNow(1, 2);
    expect(heard).toEqual(['10.0.0.1:1 check', '10.0.0.1:1 back']);
    clock.advance(60_000);
    expect(pool(2).sent).toHaveLength(1);
  });

  it('are not checked once they are gone, nor once the upstream is', () => {
    checked(1, 2);
    checked(2);
    expect(pool(1).last.isAborted).toBe(true);
    void transport.close();
    expect(pool(2).last.isAborted).toBe(true);
    clock.advance(60_000);
    expect([pool(1).sent.length, pool(2).sent.length]).toEqual([1, 1]);
  });

  it('of a name are looked up again when a check cannot connect', () => {
    use([named(1)], 'least_requests', HEALTH);
    names[0]?.found(1);
    pool(1).last.sink.fail(failed('connect'));
    expect(names[0]?.refreshed).toEqual([{ host: '10.0.0.1', port: 1 }]);
  });
});

it('has closed when every pool has, those included that drain', async () => {
  useNow(1, 2);
  const first = pool(1);
  useNow(2);
  let isClosed = false;
  const closed = transport.close().then(() => {
    isClosed = true;
  });
  pool(2).gone.resolve();
  await settled();
  expect(isClosed).toBe(false);
  first.gone.resolve();
  await closed;
});

describe('a cookie that names an endpoint', () => {
  const byCookie = (key: string | null = 'k', ...ports: number[]) =>
    use(
      (ports.length === 0 ? [1, 2] : ports).map(port => at(port)),
      { cookie: 'node', key },
    );
  const markOf = ({ call }: Sink) => call?.mark ?? '';
  /** The value that names the endpoint at this port. */
  const markAt = (port: number) =>
    transport.endpoints.find(({ address }) => address.port === port)?.mark ?? '';
  const takeOut = (port: number) => {
    for (let i = 0; i < 3; i++) {
      const sink = send(markAt(port));
      sink.sendsAgain = false;
      pool(port).last.sink.fail(failed('connect'));
    }
    expect(outside()).toContain(`10.0.0.1:${port}`);
  };

  it('keeps its client there, however busy it is', () => {
    byCookie();
    const first = send();
    for (let i = 0; i < 10; i++) expect(portOf(send(markOf(first)))).toBe(portOf(first));
  });

  it('is a hash of the address with a key, the same in every gateway with that key', () => {
    byCookie('k');
    const [one, two] = [markAt(1), markAt(2)];
    expect(one).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(one).not.toBe(two);
    latest = null;
    byCookie('k', 2, 1, 3);
    expect([markAt(1), markAt(2)]).toEqual([one, two]);
    latest = null;
    byCookie('other');
    expect(markAt(1)).not.toBe(one);
  });

  it('is made with the key of the process if the configuration has none', () => {
    byCookie(null);
    const own = markAt(1);
    latest = null;
    byCookie(OWN_KEY.toString());
    expect(markAt(1)).toBe(own);
  });

  it('is another one after a reload with another key', () => {
    byCookie('k');
    const before = markAt(2);
    byCookie('new');
    expect(markAt(2)).not.toBe(before);
    expect(portOf(send(before))).toBe(1);
    expect(portOf(send(markAt(2)))).toBe(2);
  });

  it('counts for nothing if it is unknown, and the first that is known counts', () => {
    byCookie();
    const ports = [1, 2, 3, 4].map(() => portOf(send('foreign', '10.0.0.1:2')));
    expect(ports).toEqual([1, 2, 1, 2]);
    for (let i = 0; i < 4; i++) expect(portOf(send('foreign', markAt(2)))).toBe(2);
  });

  it('gives way to another one while its endpoint is out', () => {
    byCookie();
    const lost = markAt(2);
    takeOut(2);
    const moved = send(lost);
    expect([portOf(moved), markOf(moved)]).toEqual([1, markAt(1)]);
    clock.advance(10_000);
    expect(portOf(send(lost))).toBe(2);
  });

  it('gives way to another one once its endpoint is gone', () => {
    byCookie();
    const lost = markAt(2);
    byCookie('k', 1, 3);
    const moved = send(lost);
    expect([1, 3]).toContain(portOf(moved));
    expect(markOf(moved)).not.toBe(lost);
  });

  it('gives way where its endpoint has failed the same request', () => {
    byCookie();
    const sink = send(markAt(2));
    expect(portOf(sink)).toBe(2);
    pool(2).last.sink.fail(failed('connect'));
    expect([portOf(sink), markOf(sink)]).toEqual([1, markAt(1)]);
  });

  it('does not name a backup while others are healthy', () => {
    use([at(1), { ...at(2), backup: true }], { cookie: 'node', key: 'k' });
    expect(portOf(send(markAt(2)))).toBe(1);
  });

  it('names the only address as well, which may get others later', () => {
    byCookie('k', 1);
    expect(markOf(send())).toBe(markAt(1));
  });

  it('is followed when the first addresses of a name arrive', async () => {
    use([named(1)], { cookie: 'node', key: 'k' });
    names[0]?.found(1, 2);
    const known = markAt(2);
    latest = null;
    use([named(1)], { cookie: 'node', key: 'k' });
    const sink = send(known);
    names[1]?.found(1, 2);
    await settled();
    expect(portOf(sink)).toBe(2);
  });

  it('is absent with another balance', () => {
    byCookie();
    const before = markAt(2);
    useNow(1, 2);
    expect([send(before), send(before)].map(sink => [portOf(sink), markOf(sink)])).toEqual([
      [1, ''],
      [2, ''],
    ]);
  });
});
