import type { BodySource, Fields, GatewayError } from '../../../src/core/index.ts';
import type { Http1Downstream } from '../../../src/edge/server/http1-downstream.ts';
import { Exchange } from '../../../src/gateway/exchange/exchange.ts';
import { readHead } from '../../../src/gateway/gates/head.ts';
import { findRoute } from '../../../src/gateway/gates/route.ts';
import type { GatewayState } from '../../../src/gateway/gateway-state.ts';
import type { Gateway } from '../../../src/gateway/index.ts';
import { methodNotSupported } from '../../../src/gateway/responses/errors.ts';
import type { RenderedResponse } from '../../../src/gateway/responses/render-error.ts';
import type { Generation } from '../../../src/gateway/runtime/generations.ts';
import { AddressSet, DEFAULT_KEYING, ForwardingRules } from '../../../src/wire/http/index.ts';
import { NO_TERMS } from '../../../src/wire/http1/index.ts';
import { FrozenClock } from '../../unit/limits/frozen-clock.ts';
import type { SeenRequest } from './request-reading.ts';

/**
 * How a request is served.
 * - `prompt`: its body is taken at once, and it is answered with the body's last byte
 * - `tardy`: its body is taken later and in single pieces, and it is answered later
 * - `hasty`: it is answered at once, and its body is not taken
 */
export type Manner = 'prompt' | 'tardy' | 'hasty';

const GENERATION = {
  snapshot: {
    trustedProxies: new AddressSet([]),
    forwarding: new ForwardingRules(),
    limits: { keying: DEFAULT_KEYING, neverRestrict: { addresses: new AddressSet([]), callers: new Set() } },
    caps: { fields: Number.POSITIVE_INFINITY },
    cors: null,
    tracing: null,
    routes: { find: () => ({ value: { semicolons: 'pass' }, params: [] }) },
  },
} as unknown as Generation;
const NO_SETTLER = { settle: () => {}, price: () => {}, leave: () => {} };
const STATE = {
  generation: GENERATION,
  clock: new FrozenClock(),
  sequence: { next: () => 0 },
  nextRequestId: () => 'id',
  listener: { untrustedForwarding() {} },
  unlistedProxies: { saw() {} },
} as unknown as GatewayState;
const EMPTY: Fields = ['Content-Length', '0'];

interface Entry extends Exchange {
  readonly downstream: Http1Downstream;
}

/** What no reader accepts. TRACE and CONNECT are read as any other method, and refused for what they mean. */
const refuseUnknown = (exchange: Exchange) =>
  exchange.downstream.method === '' ? methodNotSupported([]) : null;

/**
 * Takes the gateway's place and records what connections hand to it. Only the gates that judge a request by its bytes (its head,
 * its target) run; there is no upstream.
 */
export class RecordingGateway {
  readonly #manner: Manner;
  readonly #entries: {
    readonly exchange: Entry;
    body: string;
    taken: boolean;
    over: boolean;
    why: string | null;
  }[] = [];
  /** Steps that are still to come. */
  busy = 0;
  /** The last refusal of bytes that are not a request. */
  refusal: GatewayError | null = null;

  constructor(manner: Manner) {
    this.#manner = manner;
  }

  /** For code that takes a gateway and uses only these members. */
  get asGateway(): Gateway {
    return this as unknown as Gateway;
  }

  get requests(): SeenRequest[] {
    return this.#entries.map(({ exchange, body, taken, why }) => {
      const { method, target, version, fields, requestComplete, keepsConnection } = exchange.downstream;
      const seen = { method, target, version, fields, trailers: [], turnedAway: why };
      return { ...seen, body: taken ? body : null, complete: requestComplete, persistent: keepsConnection };
    });
  }

  /** Whether each exchange was told that it is over. */
  get allOver(): boolean {
    return this.#entries.every(({ over }) => over);
  }

  accept(downstream: Http1Downstream): Exchange {
    const exchange = new Exchange(downstream, STATE, NO_SETTLER) as Entry;
    exchange.fault = fault => this.#fault(exchange, fault as GatewayError);
    this.#entries.push({ exchange, body: '', taken: false, over: false, why: null });
    return exchange;
  }

  run(exchange: Entry): void {
    const { downstream } = exchange;
    const refused = readHead(exchange) ?? refuseUnknown(exchange) ?? findRoute(exchange);
    if (refused !== null && !(refused instanceof Promise)) {
      this.#entryOf(exchange).why = refused.message;
      downstream.answer(refused.status, '', EMPTY, '', refused.close);
      return;
    }
    if ((exchange.bodyLength === 0) !== (downstream.requestBody === null))
      throw new Error('the gates and the connection disagree whether there is a body');
    if (this.#manner === 'hasty' || exchange.bodyLength === 0) this.#later(() => this.#answer(exchange));
    else this.#later(() => this.#takeBody(exchange, downstream.body(NO_TERMS)));
  }

  #fault({ downstream }: Entry, error: GatewayError): void {
    this.refusal ??= error;
    if (!downstream.responseBegun) downstream.answer(error.status, '', EMPTY, '', error.close);
    else downstream.abort();
  }

  refuse(_peer: string, error: GatewayError): RenderedResponse {
    this.refusal ??= error;
    return { status: error.status, reason: '', fields: [...EMPTY], body: '', close: true };
  }

  over(exchange: Exchange): void {
    const entry = this.#entryOf(exchange);
    if (entry.over) throw new Error('an exchange that was over is over again');
    entry.over = true;
  }

  #takeBody(exchange: Entry, body: BodySource): void {
    const entry = this.#entryOf(exchange);
    entry.taken = true;
    body.start({
      chunk: bytes => {
        entry.body += bytes.toString('latin1');
        if (this.#manner === 'tardy') this.#later(() => body.resume());
        return this.#manner !== 'tardy';
      },
      end: () => this.#later(() => this.#answer(exchange)),
      fail: () => {},
    });
  }

  #answer(exchange: Entry): void {
    if (!this.#entryOf(exchange).over && !exchange.downstream.responseBegun)
      exchange.downstream.answer(200, '', EMPTY, '', false);
  }

  #later(step: () => void): void {
    if (this.#manner === 'prompt') {
      step();
      return;
    }
    this.busy++;
    setImmediate(() => {
      this.busy--;
      step();
    });
  }

  #entryOf(exchange: Exchange) {
    const entry = this.#entries.find(candidate => candidate.exchange === exchange);
    if (entry === undefined) throw new Error('an exchange that nobody began');
    return entry;
  }
}
