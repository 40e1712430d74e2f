import type { Socket } from 'node:net';
import type { ListenerModel } from '../../../config/index.ts';
import type { GatewayError, TimerClock, Written } from '../../../core/index.ts';
import { inNextTurn, Roster, readDirectly, StallTimer, TurnWriter } from '../../../core/index.ts';
import { ConnectionMemory, errors, type Gateway } from '../../../gateway/index.ts';
import type {
  HeaderSection,
  RequestHandler,
  ServerSessionOptions,
  ServerSessionOwner,
  ServerStream,
} from '../../../wire/http2/index.ts';
import { ErrorCode, Http2Fault, Liveness, ServerSession } from '../../../wire/http2/index.ts';
import { type Holding, type HoldingConnection, KEEPING_BYTES, STREAM_BYTES } from '../buffered.ts';
import type { Accepted, ClientConnection, ConnectedClient, ListenerState } from '../client-connection.ts';
import type { Tunnels } from '../tunnels.ts';
import { type DownstreamConnection, Http2Downstream } from './http2-downstream.ts';
import { HeadReader } from './http2-request-head.ts';

/** An idle connection is kept this much longer than announced, to serve a request sent at the last moment. */
const KEEP_ALIVE_GRACE_MS = 1_000;
/** How long a client has to answer the PING after the first GOAWAY. After that, both are assumed to have been read. */
const GOAWAY_MS = 1_000;
/** How long a client may take to close a connection that we have closed. */
const CLOSE_MS = 2_000;

/**
 * What a client's connection over HTTP/2 is doing.
 *
 * - `preface` to `open`: the client's SETTINGS have come
 * - `preface` or `open` to `going away`: the gateway drains, or the connection is idle, too old or no longer wanted; the first
 *   GOAWAY and a PING go out
 * - `going away` to `last streams`: the client has answered the PING or its second is over; the last GOAWAY goes out
 * - `open` or `going away` to `last streams`: the client sent GOAWAY, or reads too slowly and has no stream left
 * - `last streams` to `closing`: the last exchange is over
 * - any to `closing`: the client closed its side or disconnected, broke the protocol, flooded, or holds too much
 */
type Http2Phase =
  /** Accepted. The client's SETTINGS, which end its preface, have not arrived yet (RFC 9113, 3.4). */
  | 'preface'
  | 'open'
  /** The client knows, or soon will, that the connection closes. Requests already sent are served (RFC 9113, 6.8). */
  | 'going away'
  /** The client knows the last stream that is served. Running streams finish, then the connection. */
  | 'last streams'
  /** Our side is closed. What still arrives is discarded until the client closes its own. */
  | 'closing';

/** A client's connection over HTTP/2: a session of streams, each of which is one exchange. */
export class Http2Connection
  implements ClientConnection, DownstreamConnection, ServerSessionOwner, HoldingConnection
{
  readonly socket: Socket;
  readonly client: ConnectedClient;
  readonly memory: ConnectionMemory;
  readonly serves: ListenerModel['serves'];
  readonly #accepted: Accepted;
  readonly #state: ListenerState;
  readonly #session: ServerSession;
  /** `null` during construction. */
  #writer: TurnWriter | null = null;
  readonly #heads: HeadReader;
  readonly #streams = new Roster<Http2Downstream>();
  /** Closed streams whose last bytes have not been passed to the socket. */
  #leaving: Http2Downstream[] = [];
  /** Number of closed streams whose last bytes are not written yet. */
  #unwritten = 0;
  /** Bytes of requests that are buffered. */
  #kept = 0;
  readonly #maxStreams: number;
  readonly #holding: Holding;
  /** True while nothing is read because the client does not read. */
  #isHeldBack = false;
  readonly #stall = new StallTimer();
  readonly #liveness = new Liveness();
  #phase: Http2Phase = 'preface';
  #phaseSinceMs: number;

  /**
   * @param socket carries HTTP: the accepted socket, or TLS over it. Bytes already read must have been returned with `unshift`
   */
  constructor(
    accepted: Accepted,
    socket: Socket,
    client: ConnectedClient,
    state: ListenerState,
    serves: ListenerModel['serves'],
  ) {
    this.socket = socket;
    this.#accepted = accepted;
    this.serves = serves;
    this.client = client;
    this.memory = new ConnectionMemory(client.mayForward);
    this.#state = state;
    this.#phaseSinceMs = state.clock.monotonicMs();
    this.#heads = new HeadReader(state.randomBytes);
    this.#holding = state.buffered.open(this, client.peer);
    this.#maxStreams = state.http2.maxStreams;
    this.#session = new ServerSession(sessionOptions(state, serves), this);
    this.#writer = new TurnWriter(
      socket,
      this.#session,
      () => this.#writing(),
      () => this.count(),
    );
    readDirectly(socket, bytes => this.#read(bytes));
    // A client that has closed its side can acknowledge nothing more, so it is not waiting for responses either.
    socket.on('end', () => this.#end());
    // 'close' follows. A TLS error leaves the socket open.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#onClose());
    socket.on('drain', () => this.#onDrain());
    this.#writer.open();
  }

  /** Bytes of responses that the system has taken. */
  get takenBytes(): number {
    return this.#session.responseBytes - this.#session.unwritten - this.socket.writableLength;
  }

  get isOverShare(): boolean {
    return this.#holding.isOverShare;
  }

  get gateway(): Gateway {
    return this.#state.gateway;
  }

  get clock(): TimerClock {
    return this.#state.clock;
  }

  get tunnels(): Tunnels {
    return this.#state.tunnels;
  }

  get date(): string {
    return this.#state.date.at(this.#state.clock.epochMs());
  }

  /** Closes the connection because a cap is reached: none of its streams was served. */
  refuse(error: GatewayError): void {
    this.gateway.refuse({ peer: this.client.peer, protocol: 'h2' }, error);
    this.#giveUp(ErrorCode.ENHANCE_YOUR_CALM);
  }

  /** Ends the connection at once: it holds too much, or its client does not read. */
  cut(): void {
    this.#accepted.reset();
    this.socket.destroy();
    this.#enter('closing');
    this.#session.lose();
  }

  sweep(nowMs: number): void {
    for (const stream of this.#streams) stream.sweep(nowMs, this.#state);
    this.#session.sweep(nowMs);
    if (this.#isReadTooSlowly(nowMs)) {
      this.#state.connectionListener.readTooSlowly();
      this.cut();
      return;
    }
    this.count();
    this.#sweepLiveness(nowMs);
    const { timeouts } = this.#state;
    const idleMs = this.#stall.waitedMs(nowMs, this.#streams.size > 0);
    const phaseMs = nowMs - this.#phaseSinceMs;
    switch (this.#phase) {
      case 'preface':
        if (phaseMs > timeouts.clientHeaderMs) this.socket.destroy();
        break;
      case 'open':
        if (idleMs > timeouts.keepAliveMs + KEEP_ALIVE_GRACE_MS) this.retire();
        break;
      case 'going away':
        if (phaseMs > GOAWAY_MS) this.shutDownSeen();
        break;
      case 'closing':
        if (phaseMs > CLOSE_MS) this.socket.destroy();
    }
  }

  drain(): void {
    this.retire();
  }

  /** Announces that the connection closes. After a round trip, the client has sent its last request. */
  retire(): void {
    if (this.#phase !== 'open' && this.#phase !== 'preface') return;
    this.#enter('going away');
    this.#session.shutDown();
  }

  wake(): void {
    this.#writer?.wake();
  }

  settingsRead(): void {
    if (this.#phase === 'preface') this.#enter('open');
  }

  /** Names the streams that are served in the last GOAWAY: the client sends the others elsewhere (RFC 9113, 6.8). */
  shutDownSeen(): void {
    if (this.#phase === 'going away') this.#finish();
  }

  /** Answers with a GOAWAY: the client will, or should, open no more streams. */
  goaway(): void {
    if (this.#phase === 'open' || this.#phase === 'going away') this.#finish();
  }

  request(stream: ServerStream, section: HeaderSection, ends: boolean): RequestHandler {
    this.#stall.begin();
    try {
      return this.#serve(stream, section, ends);
    } catch (fault) {
      this.gateway.refuse({ peer: this.client.peer, protocol: 'h2' }, errors.internalFault(fault));
      stream.cancel(ErrorCode.INTERNAL_ERROR);
      return NO_HANDLER;
    }
  }

  readTooSlowly(): void {
    this.#state.connectionListener.readTooSlowly();
    // Nothing else is in progress. The client sends further requests elsewhere (RFC 9113, 6.8).
    if (this.#streams.size === 0) this.goaway();
  }

  keeps(change: number): boolean {
    const fits = this.#holding.hasRoomFor(change);
    this.#kept += change;
    this.count();
    return fits;
  }

  count(): void {
    const { unwritten, waiting, held } = this.#session;
    const { writableLength, destroyed } = this.socket;
    let bytes = destroyed ? 0 : writableLength + unwritten + waiting + held + this.#kept;
    if (!destroyed) for (const { exchange } of this.#streams) bytes += exchange.upstreamLeg?.heldBytes ?? 0;
    if (bytes > 0) bytes += KEEPING_BYTES + this.#streams.size * STREAM_BYTES;
    this.#holding.set(bytes);
  }

  streamClosed(downstream: Http2Downstream, answered: boolean): void {
    const isUnwritten = answered && this.#session.unwritten > 0;
    if (!isUnwritten || this.#phase === 'closing') {
      this.#over(downstream, answered && !isUnwritten);
      return;
    }
    this.#leaving.push(downstream);
    this.#unwritten++;
  }

  #serve(stream: ServerStream, section: HeaderSection, ends: boolean): RequestHandler {
    const head = this.#heads.read(section, ends, this.#state.headBytes, this.#state.namedMethods);
    const downstream = new Http2Downstream(this, stream, head);
    const { exchange } = downstream;
    this.#streams.add(downstream);
    if (head.fault === null) this.gateway.run(exchange);
    else exchange.fault(head.fault);
    // The gateway could not recognise a repeated head: the reader would make another array of its fields.
    if (!this.#heads.remembersFields) this.memory.arrival = null;
    return downstream;
  }

  /**
   * Returns a callback for when the system has taken the bytes about to be written: then the streams that end in them are over.
   */
  #writing(): Written | undefined {
    if (this.#leaving.length === 0) return undefined;
    const leaving = this.#leaving;
    this.#leaving = [];
    return error => {
      this.#unwritten -= leaving.length;
      for (const stream of leaving) this.#over(stream, !error);
      if (this.#isHeldBack) this.#readOn();
    };
  }

  #onDrain(): void {
    this.count();
    if (this.#isHeldBack) this.#readOn();
  }

  #over(downstream: Http2Downstream, delivered: boolean): void {
    this.#streams.delete(downstream);
    downstream.over(delivered);
    if (this.#phase === 'last streams' && this.#streams.size === 0) this.#end();
  }

  /** Reads new bytes, or with `null` those that were deferred: a part in each turn of the event loop. */
  #read(bytes: Buffer | null): void {
    if (this.#phase === 'closing') return;
    try {
      if (bytes === null) this.#session.readOn();
      else this.#session.read(bytes, bytes.length);
    } catch (fault) {
      this.#faulty(fault);
      return;
    }
    this.#readOn();
  }

  /** Continues reading, unless the client does not: bytes waiting to be written count as in flight. */
  #readOn(): void {
    const isWaiting = this.#unwritten > 0 && this.#streams.size >= this.#maxStreams;
    this.#isHeldBack = this.#phase !== 'closing' && (isWaiting || this.#writer?.isFull === true);
    const { isBehind } = this.#session;
    if (this.#isHeldBack || isBehind) this.socket.pause();
    else if (this.socket.isPaused()) this.socket.resume();
    if (isBehind && !this.#isHeldBack) inNextTurn(() => this.#read(null));
  }

  /** Whether the client reads too slowly, over all streams whose own windows are open. */
  #isReadTooSlowly(nowMs: number): boolean {
    if (this.#phase === 'closing' || (this.socket.writableLength === 0 && !this.#session.isBlocked)) {
      this.#holding.rest();
      return false;
    }
    const { clientReadMs } = this.#state.timeouts;
    return this.#holding.isTooSlow(nowMs, { clientReadMs, minBytesPerS: this.#minReadRate });
  }

  /** The lowest rate required by a stream. */
  get #minReadRate(): number | null {
    let least = Number.POSITIVE_INFINITY;
    for (const { exchange } of this.#streams) least = Math.min(least, exchange.minReadRate ?? 0);
    return least > 0 && least < Number.POSITIVE_INFINITY ? least : null;
  }

  #faulty(fault: unknown): void {
    if (fault instanceof Http2Fault) {
      this.#state.connectionListener.http2Closed(fault.reason);
      this.#giveUp(fault.code);
    } else {
      this.gateway.refuse({ peer: this.client.peer, protocol: 'h2' }, errors.internalFault(fault));
      this.#giveUp(ErrorCode.INTERNAL_ERROR);
    }
  }

  #sweepLiveness(nowMs: number): void {
    if (this.#holding.isMeasured) {
      // How fast the client reads shows that it is alive. A PING would wait behind what it has not read.
      this.#liveness.heard();
      return;
    }
    const { keepAliveMs: pingIntervalMs, clientReadMs: pingTimeoutMs } = this.#state.timeouts;
    const terms = { pingIntervalMs, pingTimeoutMs };
    // While nothing is read, silence means nothing.
    const isIdle = this.#streams.size === 0 || this.#isHeldBack;
    const next = this.#liveness.sweep(nowMs, this.socket.bytesRead, isIdle, terms);
    if (next === 'give up') this.socket.destroy();
    else if (next === 'ping' && this.#liveness.ping()) this.#session.sendPing();
  }

  #finish(): void {
    this.#enter('last streams');
    this.#session.goAway(ErrorCode.NO_ERROR);
    if (this.#streams.size === 0) this.#end();
  }

  /** Aborts what is in progress, and closes. */
  #giveUp(code: number): void {
    if (this.#phase === 'closing') return;
    this.#session.goAway(code);
    this.#end();
  }

  /** Closes our side after everything written. With TLS, a close_notify shows that nothing is missing. */
  #end(): void {
    if (this.#phase === 'closing') return;
    this.#enter('closing');
    this.#session.lose();
    this.#writer?.finish();
    this.socket.end();
    // What still arrives is read, or the system would reset the connection, and the client could lose what was written.
    this.socket.resume();
  }

  #onClose(): void {
    this.#enter('closing');
    this.#session.lose();
    const leaving = this.#leaving;
    this.#leaving = [];
    for (const stream of leaving) this.#over(stream, false);
    this.#holding.set(0);
  }

  #enter(phase: Http2Phase): void {
    this.#phase = phase;
    this.#phaseSinceMs = this.#state.clock.monotonicMs();
  }
}

/** Ignores what arrives on a stream for which no exchange could be made. */
const NO_HANDLER: RequestHandler = {
  section: () => {},
  data: () => true,
  ended: () => {},
  drained: () => {},
  malformed: () => {},
  closed: () => {},
};

/** The limits of a session. Heads up to twice the caps reach the gateway, which answers 431. */
function sessionOptions(
  { http2, headBytes, fields }: ListenerState,
  serves: ListenerModel['serves'],
): ServerSessionOptions {
  return {
    streamWindow: http2.streamWindowBytes,
    connectionWindow: http2.connectionWindowBytes,
    maxBytes: 2 * headBytes + 2 * FIELD_OVERHEAD_BYTES * fields,
    maxFields: 2 * fields,
    maxStreams: http2.maxStreams,
    // RFC 8441, 3: only where WebSockets may be accepted.
    offersConnect: http2.webSockets && serves !== 'grpc',
    maxUnsent: http2.sessionMemoryBytes,
  };
}

/** What a field counts for in addition to its bytes (RFC 9113, 6.5.2). */
const FIELD_OVERHEAD_BYTES = 32;
