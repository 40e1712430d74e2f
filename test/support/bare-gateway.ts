import type { Snapshot } from '../../src/config/index.ts';
import {
  alone,
  type BodySource,
  type ExchangeRecord,
  type FieldNames,
  type Fields,
  firstValue,
  NO_NAMES,
  silent,
  thisMachine,
} from '../../src/core/index.ts';
import {
  ConnectionMemory,
  type Downstream,
  type Exchange,
  Gateway,
  UnlistedProxies,
} from '../../src/gateway/index.ts';
import { Limiting, Overload, type RequestIdentity } from '../../src/gateway/runtime/index.ts';
import type { Verdict } from '../../src/identity/auth/index.ts';
import { NONE_ELSEWHERE } from '../../src/limits/index.ts';
import { type TestIdentity, testIdentity } from '../../src/offline/limit-tests/test-identity.ts';
import type { CallSink, Transport, UpstreamFailure } from '../../src/upstream/index.ts';
import type { OutgoingRequest } from '../../src/wire/http1/index.ts';
import { requestFraming } from '../../src/wire/http1/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';
import { loadFiles } from './config-text.ts';
import type { ConfigPart } from './gateway.ts';
import type { Response } from './wire/index.ts';

/** What a service does with a request that reaches it. */
export type Service = (request: OutgoingRequest, sink: CallSink) => void;

/** A service that answers at once. */
export const answering =
  (status: number, fields: Fields = [], body = ''): Service =>
  (_, sink) =>
    sink.whole(status, '', fields, body);

/** A service that never answers. */
export const silence: Service = () => {};

/** A failure of a request, of which nothing had come back. */
export const failing = (kind: UpstreamFailure['kind'], more: Partial<UpstreamFailure> = {}) => ({
  ...{ kind, onReusedConnection: false, responseBegun: false, resetCode: null, cause: new Error('broken') },
  ...more,
});

export interface BareSettings {
  /** Routes besides `/**`, which requires a token, and `/open/**`, which looks at none. */
  readonly routes?: readonly ConfigPart[];
  /** Further keys of the upstream `api`. */
  readonly api?: ConfigPart;
  /** Further keys of `access_tokens`. */
  readonly tokens?: ConfigPart;
  /** Further top-level keys of gateway.yaml. */
  readonly config?: ConfigPart;
  /** Files in the folder `errors`. */
  readonly files?: Readonly<Record<string, string>>;
  /** What the upstream does. Default: answers 200. */
  readonly service?: Service;
  /** What is found of every token that is not known. Default: what the verifier finds. */
  readonly verdict?: Verdict | Promise<Verdict>;
  /** What a provider says of a token that it is asked about. Default: that it is active. */
  readonly introspect?: RequestIdentity['introspect'];
}

/** How a request differs from one of nobody at 192.0.2.1. */
export interface Sending {
  /** Claims of its token over those of alice; `true`: no others. */
  readonly as?: Readonly<Record<string, unknown>> | true;
  readonly from?: string;
  /** Further header fields: names and values. */
  readonly fields?: Fields;
  /** The connection that it comes on. Default: one of its own. */
  readonly on?: ConnectionMemory;
  readonly more?: Partial<Downstream>;
}

/** A request in flight. */
export interface Sent {
  readonly exchange: Exchange;
  readonly client: BareClient;
  /** Its client goes away. */
  leave(): void;
}

const DATE = 'Thu, 01 Jan 2026 00:00:00 GMT';

/** A gateway without sockets: its gates, limits, tokens, terminals and ledger are real. Its time passes when the test says so. */
export class BareGateway {
  readonly clock: FrozenClock;
  readonly gateway: Gateway;
  readonly limiting: Limiting;
  /** Sheds nothing, unless the test has it do so. */
  readonly overload: Overload;
  readonly snapshot: Snapshot;
  /** What reached a service. */
  readonly requests: OutgoingRequest[] = [];
  /** The records of all exchanges that are over. */
  readonly records: ExchangeRecord[] = [];
  /** What the limits told their listener: the name of the event, then its value. */
  readonly told: (readonly [string, unknown])[] = [];
  /** How often a request was given up that was under way. */
  aborted = 0;
  service: Service;
  readonly #identity: TestIdentity | null;

  constructor(
    snapshot: Snapshot,
    clock: FrozenClock,
    identity: TestIdentity | null,
    { service = answering(200), introspect, verdict }: BareSettings,
  ) {
    this.clock = clock;
    this.snapshot = snapshot;
    this.service = service;
    this.overload = new Overload(null, clock, silent());
    this.#identity = identity;
    if (verdict !== undefined) Object.assign(identity?.identity.verifier ?? {}, { verify: () => verdict });
    const heard = new Proxy({} as ConstructorParameters<typeof Limiting>[1]['listener'], {
      get: (_, name) => (event: unknown) => void this.told.push([String(name), event]),
    });
    const part = alone({ ...thisMachine, clock });
    this.limiting = new Limiting(snapshot.limits, {
      ...{
        ...thisMachine,
        clock,
        listener: heard,
        storeListener: silent(),
        limitKeys: snapshot.caps.limitKeys,
        part,
        inFlightElsewhere: NONE_ELSEWHERE,
      },
    });
    const parts = snapshot.upstreams.map(
      ({ name }) => [name, { part: { transport: this.#transport() } }] as const,
    );
    this.gateway = new Gateway({
      ...{ ...thisMachine, clock, limiting: this.limiting, nextRequestId: () => 'id', part },
      generation: {
        snapshot,
        identity: identity && { ...identity.identity, ...(introspect && { introspect }) },
        transports: new Map(parts),
      },
      listener: {
        ...{
          switched: () => {},
          lasting: () => {},
          untrustedForwarding: () => {},
          challengeRemoved: () => {},
        },
        finished: record => void this.records.push(record),
      },
      overload: this.overload,
      unlistedProxies: new UnlistedProxies(clock, silent()),
    });
  }

  /** The header line that carries a token with these claims over those of alice. */
  bearer(claims: Readonly<Record<string, unknown>> = {}): string {
    const issuer = this.#identity?.issuers[0];
    const usual: Readonly<Record<string, unknown>> = { azp: 'app', sub: 'alice', ...claims };
    const values = issuer?.claimsOf('user')?.map(name => String(usual[name] ?? '')) ?? [];
    return `Bearer ${issuer?.token('user', values, usual)}`;
  }

  /** Sends a request such as `GET /a`, and leaves it in flight. */
  send(line: string, { as, from = '192.0.2.1', fields = [], on, more }: Sending = {}): Sent {
    const [method = '', target = ''] = line.split(' ');
    const authorization = as === undefined ? [] : ['Authorization', this.bearer(as === true ? {} : as)];
    const client = new BareClient(method, target, from, ['Host', 'a.test', ...fields, ...authorization], on);
    const exchange = this.gateway.accept(Object.assign(client, more));
    this.gateway.run(exchange);
    return { exchange, client, leave: () => this.gateway.over(exchange, false) };
  }

  /** Sends a request and waits for its response. */
  async ask(line: string, sending: Sending = {}): Promise<Response> {
    const { exchange, client } = this.send(line, sending);
    const response = await client.response;
    this.gateway.over(exchange, response.complete);
    return response;
  }

  /** Sends the same so often, one after another. */
  async askTimes(times: number, line: string, sending: Sending = {}): Promise<Response[]> {
    const responses: Response[] = [];
    for (let i = 0; i < times; i++) responses.push(await this.ask(line, sending));
    return responses;
  }

  #transport(): Transport {
    const send = (request: OutgoingRequest, sink: CallSink) => {
      this.requests.push(request);
      this.service(request, sink);
      return { resume: () => {}, abort: () => void this.aborted++ };
    };
    return { send, connections: 0, close: () => Promise.resolve() };
  }
}

/** Starts a gateway without sockets that has this limits.yaml, where the global limit is off unless it says so. */
export async function bareGateway(
  limits: ConfigPart = {},
  settings: BareSettings = {},
): Promise<BareGateway> {
  const { routes = [], api, tokens, config, files = {} } = settings;
  const gatewayYaml = {
    identity_provider: { issuer: 'https://id.test' },
    access_tokens: { audience: 'api', bots: { claim: 'client_id' }, ...tokens },
    upstreams: { api: { url: 'http://127.0.0.1:1', ...api } },
    routes: [
      { path: '/**', upstream: 'api' },
      ...[{ path: '/open/**', authentication: 'none' }, ...routes].map(route => ({
        upstream: 'api',
        ...route,
      })),
    ],
    limits: 'limits.yaml',
    ...config,
    caps: Object.assign({ limit_keys: 10_000 }, config?.['caps']),
  };
  const loaded = await loadFiles({
    'gateway.yaml': JSON.stringify(gatewayYaml),
    'limits.yaml': JSON.stringify({ global: 'off', ...limits }),
    'client-secret': 'a secret of the client',
    ...Object.fromEntries(Object.entries(files).map(([name, text]) => [`errors/${name}`, text])),
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  const { snapshot } = loaded;
  const clock = new FrozenClock();
  return new BareGateway(
    snapshot,
    clock,
    snapshot.identity && (await testIdentity(snapshot.identity, clock)),
    settings,
  );
}

/** The client's side of a request without a body: keeps what comes back. */
export class BareClient implements Downstream {
  readonly method: string;
  readonly target: string;
  readonly fields: Fields;
  readonly peer: string;
  readonly memory: ConnectionMemory;
  readonly framing: Downstream['framing'];
  readonly protocol: 'http1' | 'h2' = 'http1';
  readonly version: Downstream['version'] = '1.1';
  readonly neverIndexed: FieldNames = NO_NAMES;
  readonly scheme: 'http' | 'https' = 'http';
  readonly redirects: boolean = false;
  readonly onlyCalls: boolean = false;
  readonly clientCertificate: string | null = null;
  readonly bytesReceived: number = 0;
  /** How many responses came, the one that broke off included. */
  responses = 0;
  readonly #interim: { readonly status: number; readonly fields: Fields }[] = [];
  readonly #pieces: Buffer[] = [];
  #head: { readonly status: number; readonly reason: string; readonly fields: Fields } | null = null;
  readonly #response = Promise.withResolvers<Response>();

  constructor(method: string, target: string, peer: string, fields: Fields, memory?: ConnectionMemory) {
    this.method = method;
    this.target = target;
    this.peer = peer;
    this.fields = fields;
    this.memory = memory ?? new ConnectionMemory(true);
    this.framing = requestFraming(fields, 1);
  }

  /** What came, once it is whole or was broken off. */
  get response(): Promise<Response> {
    return this.#response.promise;
  }

  body(): BodySource {
    return { started: false, start: () => {}, pause: () => {}, resume: () => {} };
  }

  keeps(): boolean {
    return true;
  }

  neverIndex(): void {}

  info(status: number, fields: Fields): void {
    this.#interim.push({ status, fields });
  }

  answer(status: number, reason: string, fields: Fields, body: string): void {
    this.head(status, reason, fields);
    if (this.method !== 'HEAD') this.#pieces.push(Buffer.from(body, 'latin1'));
    this.end([]);
  }

  head(status: number, reason: string, fields: Fields): void {
    this.responses++;
    // As a listener does.
    const dated = firstValue(fields, 'date') === undefined ? [...fields, 'Date', DATE] : fields;
    this.#head = { status, reason, fields: dated };
  }

  write(chunk: Buffer): boolean {
    this.#pieces.push(chunk);
    return true;
  }

  end(trailers: Fields): void {
    this.#finish(trailers, true);
  }

  switchProtocols(): boolean {
    return false;
  }

  abort(): void {
    this.responses += this.#head === null ? 1 : 0;
    this.#finish([], false);
  }

  #finish(trailers: Fields, complete: boolean): void {
    const body = Buffer.concat(this.#pieces);
    this.#response.resolve({
      ...(this.#head ?? { status: 0, reason: '', fields: [] }),
      ...{ interim: this.#interim, body, bodyBytes: body.length, trailers, complete },
      ...{ framing: body.length, end: complete ? 'framing' : 'close' },
    });
  }
}
