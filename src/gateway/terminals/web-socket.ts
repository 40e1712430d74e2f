import type * as core from '../../core/index.ts';
import { CLOSE_TEXTS, GatewayError, RpcCode } from '../../core/index.ts';
import type { Place } from '../../limits/index.ts';
import { CloseCode, hasExtensions, judgeSwitch, Tunnel, type TunnelEnd } from '../../wire/websocket/index.ts';
import type { Exchange, Standing, Successor } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import { recordOf, recordOfSocket } from '../ledger.ts';
import { errors } from '../responses/index.ts';

/** A WebSocket handshake that the upstream accepted. */
interface AgreedHandshake {
  /** The fields of the request to the upstream. */
  readonly asked: core.Fields;
  /** The fields of the upstream's response. */
  readonly answered: core.Fields;
  /** The fields of the 101 for the client, except `Connection` and `Upgrade`. */
  readonly out: string[];
  readonly stream: core.ByteStream;
}

/** Answers 101 and joins both connections. The exchange then ends, and a session takes its place. */
export function openWebSocket(exchange: Exchange, state: GatewayState, handshake: AgreedHandshake): void {
  const { asked, answered, out, stream } = handshake;
  const { route } = exchange.destination;
  const fault = judgeSwitch(asked, answered);
  if (fault !== null || route?.kind !== 'forward' || route.websocket === null) {
    stream.destroy();
    exchange.answerError(errors.upstreamFailed(new Error(fault ?? 'an upgrade that was not requested')));
    return;
  }
  out.push('Connection', 'Upgrade', 'Upgrade', 'websocket');
  const session = new WebSocketSession(state, stream, exchange.standing, {
    idleMs: route.websocket.idleMs,
    extended: hasExtensions(answered),
    startedAtMs: exchange.startedAtMs,
  });
  if (!exchange.response.switchTo(out, session)) {
    stream.destroy();
    return;
  }
  // The session takes over the upstream permit, the caller's place and the verdicts. It may outlive many configurations, so the
  // exchange ends here.
  exchange.leave();
  state.listener.switched(route.upstream.name);
  exchange.lasted = exchange.ruling !== null;
  const record = recordOf(exchange, state.clock.monotonicMs());
  if (exchange.lasted) state.listener.lasting(record);
  session.begun({ record, permit: exchange.upstreamPermit, place: exchange.place });
}

const MASK_BYTES = 4;

/** What a session keeps of the handshake. */
interface SessionOptions {
  readonly idleMs: number;
  readonly extended: boolean;
  readonly startedAtMs: number;
}

/** What a session takes over from its exchange. */
interface BegunSession {
  readonly record: core.ExchangeRecord;
  readonly permit: core.UpstreamPlace | null;
  readonly place: Place | null;
}

/** An open WebSocket, from its 101 to its end. */
export class WebSocketSession implements Successor {
  readonly #state: GatewayState;
  readonly #upstream: core.ByteStream;
  readonly #standing: Standing;
  readonly #options: SessionOptions;
  #tunnel: Tunnel | null = null;
  #begun: BegunSession | null = null;
  /** Why the gateway ended it. */
  #error: GatewayError | null = null;
  #tokenRefused: core.TokenRefusal | null = null;

  constructor(state: GatewayState, upstream: core.ByteStream, standing: Standing, options: SessionOptions) {
    this.#state = state;
    this.#upstream = upstream;
    this.#standing = standing;
    this.#options = options;
  }

  start(client: core.ByteStream): void {
    const { idleMs, extended } = this.#options;
    const nowMs = this.#state.clock.monotonicMs();
    const over = () => this.#over();
    // RFC 6455, 5.3: a mask must be unpredictable.
    const mask = () => this.#state.randomBytes(MASK_BYTES);
    this.#tunnel = new Tunnel(client, this.#upstream, nowMs, { idleMs, extended, mask, over });
    this.#tunnel.start();
  }

  /** Called once the client has its 101. */
  begun(session: BegunSession): void {
    this.#begun = session;
  }

  sweep(nowMs: number): void {
    this.#contain(() => {
      this.#review();
      this.#tunnel?.sweep(nowMs);
    });
  }

  drain(): void {
    this.#contain(() => this.#tunnel?.finish(CloseCode.goingAway, 'going away'));
  }

  /** Runs a timer's callback, and ends the session if it throws: nothing else would catch it. */
  #contain(act: () => void): void {
    try {
      act();
    } catch (fault) {
      this.#tunnel?.failed(fault);
    }
  }

  /** Ends the session if its sender must not continue. */
  #review(): void {
    if (this.#error !== null) return;
    const { limiting, clock } = this.#state;
    const stop = this.#standing.review(limiting, clock);
    if (stop === null) return;
    this.#error = stop.error;
    this.#tokenRefused = stop.refusedToken;
    const why = stop.refusedToken === null ? 'restricted' : CLOSE_TEXTS[stop.refusedToken.reason];
    this.#tunnel?.revoke(CloseCode.policyViolation, why);
  }

  #over(): void {
    const { listener, clock } = this.#state;
    const tunnel = this.#tunnel;
    const begun = this.#begun;
    begun?.permit?.giveBack();
    begun?.place?.leave();
    if (begun === null || tunnel === null) return;
    const { toUpstream, toClient } = tunnel;
    const end = {
      outcome: OUTCOMES[tunnel.end],
      bytesReceived: toUpstream.passed,
      bytesSent: toClient.passed,
      durationMs: clock.monotonicMs() - this.#options.startedAtMs,
      tokenRefused: this.#tokenRefused ?? begun.record.tokenRefused,
      error:
        tunnel.failure === null
          ? (this.#error ?? faultOf(tunnel))
          : errors.internalFault(tunnel.failure.thrown),
    };
    listener.finished(recordOfSocket(begun.record, end));
  }
}

const OUTCOMES: Readonly<Record<TunnelEnd, core.Outcome>> = {
  open: 'abandoned',
  closed: 'forwarded',
  client: 'abandoned',
  upstream: 'truncated',
  fault: 'truncated',
  gateway: 'truncated',
  failure: 'truncated',
};

/** The error to log. The client got a Close frame. */
function faultOf({ toUpstream, toClient }: Tunnel): GatewayError | null {
  const cause = toUpstream.fault ?? toClient.fault;
  if (cause === null) return null;
  return new GatewayError({
    status: 502,
    rpcCode: RpcCode.invalidArgument,
    side: toUpstream.fault === null ? 'upstream' : 'client',
    message: 'What was sent is not a WebSocket frame.',
    cause,
  });
}
