import type { OnReadOpts, Socket } from 'node:net';
import type { ByteSink, ByteStream, TimerClock } from '../core/index.ts';
import { atTurnEnd, inNextTurn, SocketStream, StallTimer, turnNumber } from '../core/index.ts';
import type { LastResponse, OutgoingRequest, RequestWriterOwner, Switched } from '../wire/http1/index.ts';
import { MalformedMessage, mayAnswerTwice, RequestSender, ResponseReader } from '../wire/http1/index.ts';
import { outliveBrokenWrites } from './broken-writes.ts';
import { readyEvent, reset } from './connect.ts';
import { Lifetime, type PoolTerms, type Slab, type SlabStore } from './pool.ts';
import type {
  CallSink,
  ConnectionOwner,
  OwnedConnection,
  TransportCall,
  UpstreamFailure,
} from './transport.ts';
import { BrokenRequest, SilentResponse } from './transport.ts';

/** A connection to an upstream: carries one request at a time, and times every wait. */
export class UpstreamConnection implements RequestWriterOwner, Reader, OwnedConnection {
  /** The client's connection that it belongs to; `null` while it serves any client. */
  owner: ConnectionOwner | null = null;
  readonly #share: ConnectionShare;
  readonly #socket: Socket;
  readonly #reads = new Reads(this);
  readonly #handlers = [
    ['drain', () => this.#sending.drained()],
    ['end', () => this.#onEnd()],
    ['error', (error: Error) => this.#onBroken(error)],
    ['close', () => this.#onBroken(new Error('the connection was closed'))],
  ] as const;
  readonly #response: ResponseReader;
  /** The slab that the next read fills. */
  #slab: Slab;
  #phase: UpstreamPhase = 'connecting';
  #connected = false;
  #call: Http1Call | null = null;
  readonly #sending: RequestSender;
  /** True while the sink is paused: nothing is read. */
  #paused = false;
  /** Requests carried so far. */
  #carried = 0;
  /** The turn in which the last response ended. */
  #answeredIn = -1;
  readonly #lifetime: Lifetime;
  readonly #stall = new StallTimer();
  #closeWhenIdle = false;
  /** True once the upstream accepts no more bytes. It may still have answered. */
  #writesBroken = false;

  /** @param chance from 0 to 1, shortens the connection's life; see `Lifetime` */
  constructor(share: ConnectionShare, chance: number) {
    const { options, clock, slabs, connect } = share;
    this.#share = share;
    this.#response = new ResponseReader(options.maxHeadBytes, options.lenient);
    this.#slab = slabs.take();
    this.#lifetime = new Lifetime(options, chance, clock.monotonicMs());
    this.#socket = connect(options, this.#reads);
    this.#sending = new RequestSender(this.#socket, this, options.keepAliveMs === 0);
    outliveBrokenWrites(this.#socket, () => this.#onWritesBroken());
    this.#socket.on(readyEvent(options), () => this.#onConnect());
    for (const [event, handler] of this.#handlers) this.#socket.on(event, handler);
  }

  get open(): boolean {
    return this.#connected && this.#phase !== 'closed';
  }

  get busy(): boolean {
    return this.#call !== null;
  }

  /** Whether it is established and carries no request. */
  get isFree(): boolean {
    return this.#phase === 'idle';
  }

  /** Whether it carries a request, and no byte of the response has arrived. */
  get isUnanswered(): boolean {
    return (
      this.#call !== null &&
      (this.#phase !== 'waiting' || !this.#response.last.begun) &&
      this.#phase !== 'answering'
    );
  }

  /** Sends the request as soon as the connection is established. Call it on a new or idle connection only. */
  carry(request: OutgoingRequest, sink: CallSink): TransportCall {
    const call = new Http1Call(this, request, sink);
    this.#call = call;
    if (this.#phase === 'idle') {
      if (this.#answeredIn === turnNumber()) this.#sendLater(call);
      else this.#send(call);
    }
    return call;
  }

  /**
   * Sends the request after the next read of the socket: the upstream may have closed the connection right after its last response,
   * which only a read shows.
   */
  #sendLater(call: Http1Call): void {
    this.#phase = 'proving';
    const sendIfOpen = () => {
      if (this.#call === call && this.#phase === 'proving') this.#send(call);
    };
    atTurnEnd({ turnEnded: () => inNextTurn(sendIfOpen) });
  }

  /** True if no byte of this call has been sent yet. */
  isYetToSend(call: Http1Call): boolean {
    return call === this.#call && (this.#phase === 'connecting' || this.#phase === 'proving');
  }

  resume(call: Http1Call): void {
    if (call !== this.#call || !this.#paused) return;
    this.#paused = false;
    // Nothing was read during the pause, so the upstream's time restarts.
    this.#stall.begin();
    this.#socket.resume();
  }

  /** Gives up this call and closes its connection: the rest of the response could be taken for the next one. */
  abort(call: Http1Call): void {
    if (call === this.#call) this.close();
  }

  /** Closes at once if nothing is in flight, else after the response. */
  closeWhenIdle(): void {
    if (this.#phase === 'idle') this.close();
    else this.#closeWhenIdle = true;
  }

  /** Closes at once, without notifying a call in flight. */
  close(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#endCall();
    this.#response.giveUp();
    this.#socket.destroy();
    this.#slab.detach();
    this.#gone();
  }

  /**
   * Closes an idle connection with RST. A FIN would block its local port for a minute (TIME_WAIT); a few hundred per second use
   * up all ports.
   */
  reset(): void {
    reset(this.#socket);
    this.close();
  }

  #gone(): void {
    this.#share.gone(this);
    this.owner?.lost(this);
  }

  /** Checks for timeouts. */
  sweep(nowMs: number): void {
    const interim = this.#response.last.interim.sweep();
    const isSending = !this.#writesBroken && !this.#sending.waitsForUpstream(interim);
    const moved = this.#phase === 'waiting' && isSending;
    const waitedMs = this.#stall.waitedMs(nowMs, moved);
    this.#lifetime.age(nowMs);
    if (this.#phase === 'idle') {
      if (this.#lifetime.mustCloseAfter(waitedMs)) this.close();
      return;
    }
    // A paused response waits for the client, not for the upstream.
    if (this.#paused) return;
    if (this.#phase === 'connecting') {
      if (waitedMs > this.#share.options.connectTimeoutMs)
        this.#fail('connect', new Error('the connect timed out'));
    } else if (this.#phase === 'waiting') {
      if (waitedMs > (this.#call?.request.firstByteTimeoutMs ?? Number.POSITIVE_INFINITY))
        this.#fail('timeout', new Error('no response came in time'));
    } else if (this.#phase === 'answering') {
      if (waitedMs > (this.#call?.request.idleTimeoutMs ?? Number.POSITIVE_INFINITY))
        this.#fail('truncated', new SilentResponse());
    }
  }

  requestSent(): void {
    this.#stall.begin();
  }

  requestBroken(): void {
    this.#fail(this.#kindNow('reset'), new BrokenRequest());
  }

  #onConnect(): void {
    if (this.#phase !== 'connecting') return;
    this.#connected = true;
    this.#lifetime.begin(this.#share.clock.monotonicMs());
    if (this.#call !== null) this.#send(this.#call);
  }

  #send(call: Http1Call): void {
    const { request, sink } = call;
    this.#phase = 'waiting';
    this.#carried++;
    this.#paused = false;
    this.#response.begin(request.method, sink, request.upgrade !== 'none');
    this.#stall.begin();
    this.#sending.begin(request);
  }

  buffer(): Buffer {
    return this.#slab.bytes;
  }

  take(count: number): boolean {
    // Unsolicited bytes could be taken for the response to the next request.
    if (this.#call === null || this.#phase === 'proving') {
      this.#onBroken(new Error('the upstream sent bytes that were not requested'));
      return false;
    }
    try {
      this.#paused = !this.#response.read(this.#slab, count);
    } catch (error) {
      this.#fail(error instanceof MalformedMessage ? this.#kindNow('malformed') : 'fault', error);
    }
    // The sink may have given up the exchange meanwhile.
    if (this.#phaseNow() === 'closed') return false;
    if (this.#slab.lent) this.#slab = this.#share.slabs.replace(this.#slab);
    if (this.#response.last.switched !== null) return this.#onSwitched(this.#response.last.switched);
    if (this.#response.over) this.#onAnswered();
    else if (this.#response.inBody) {
      this.#phase = 'answering';
      this.#stall.begin();
    }
    return !this.#paused;
  }

  /** A method, so that the compiler does not assume that a call in between left the phase unchanged. */
  #phaseNow(): UpstreamPhase {
    return this.#phase;
  }

  /** Hands the socket over to the sink that requested another protocol. Returns whether the socket is being read. */
  #onSwitched({ fields, behind }: Switched): boolean {
    const socket = this.#socket;
    const sink = this.#call?.sink;
    this.#phase = 'closed';
    this.#call = null;
    for (const [event, handler] of this.#handlers) socket.off(event, handler);
    this.#slab.detach();
    this.#gone();
    const stream = new SwitchedStream(socket, this.#reads, this.#share.slabs, behind, this.#share.clock);
    this.#share.switched(stream);
    sink?.switched(fields, stream);
    return !socket.isPaused();
  }

  #onAnswered(): void {
    const { last } = this.#response;
    const call = this.#call;
    const rests = this.#share.closesEach || lateBytesAreLikely(last, call?.request ?? null);
    const { hasLeft } = this.#sending;
    this.#endCall();
    this.#lifetime.serverKeeps(last.keepAliveMs);
    // After an early response the upstream is still inside the request, so nothing can follow on this connection.
    if (!hasLeft || this.#writesBroken || last.close || this.#closeWhenIdle || !this.#lifetime.hasTimeLeft) {
      this.close();
      return;
    }
    if (call?.sink.isPrivate === true && !this.#isOwnedBy(call.sink.owner ?? null)) {
      this.reset();
      return;
    }
    this.#phase = 'idle';
    this.#answeredIn = turnNumber();
    this.#stall.begin();
    // Late bytes could only reach the client that caused them, so its next request need not wait.
    if (this.owner !== null) this.#share.idleFor(this.owner, this);
    else if (rests) this.#share.rest(this);
    else this.#share.idle(this);
  }

  /** Gives the connection to this owner, unless it already has one. Returns false if it must close. */
  #isOwnedBy(owner: ConnectionOwner | null): boolean {
    if (this.owner !== null) return true;
    if (owner === null || !owner.keep(this)) return false;
    this.owner = owner;
    this.#lifetime.lastWithOwner();
    return true;
  }

  #endCall(): void {
    this.#call = null;
    this.#sending.stop();
  }

  #onEnd(): void {
    if (this.#response.inBody && this.#response.ended()) this.close();
    else this.#onBroken(new Error('the upstream closed the connection'));
  }

  #onBroken(error: Error): void {
    if (this.#phase === 'closed') return;
    if (this.#call !== null) {
      this.#fail(this.#connected ? this.#kindNow('reset') : 'connect', error);
      return;
    }
    if (this.#phase === 'idle') this.#share.closedBehind(this.#carried);
    this.close();
  }

  /** Sends nothing more, but reads what the upstream sent before it closed. */
  #onWritesBroken(): void {
    this.#writesBroken = true;
    this.#sending.stop();
    if (this.#call === null) this.close();
  }

  /** The kind of a failure now: `truncated` once the sink has the head of a response, else the given one. */
  #kindNow(kind: UpstreamFailure['kind']): UpstreamFailure['kind'] {
    return this.#response.inBody ? 'truncated' : kind;
  }

  /** Whether no byte of the request was sent, so that it may be sent again. Not if its client broke off the body. */
  #isUnsent(cause: unknown): boolean {
    return !(cause instanceof BrokenRequest) && (this.#phase === 'proving' || this.#sending.isUnsent);
  }

  #fail(kind: UpstreamFailure['kind'], cause: unknown): void {
    const call = this.#call;
    const isProving = this.#phase === 'proving';
    const onReusedConnection = isProving || this.#carried > 1;
    const responseBegun = !isProving && this.#carried > 0 && this.#response.last.begun;
    if (kind === 'reset' && !responseBegun && this.#isUnsent(cause)) kind = 'unsent';
    const isStale = (kind === 'reset' || kind === 'unsent') && onReusedConnection && !responseBegun;
    if (isStale) this.#share.closedBehind(isProving ? this.#carried : this.#carried - 1);
    this.close();
    if (isStale) this.#share.stale();
    call?.sink.fail({ kind, onReusedConnection, responseBegun, resetCode: null, cause });
  }
}

/** A request in flight. Its connection ignores it once it is over. */
class Http1Call implements TransportCall {
  readonly request: OutgoingRequest;
  readonly sink: CallSink;
  readonly #connection: UpstreamConnection;

  constructor(connection: UpstreamConnection, request: OutgoingRequest, sink: CallSink) {
    this.#connection = connection;
    this.request = request;
    this.sink = sink;
  }

  get isQueued(): boolean {
    return this.#connection.isYetToSend(this);
  }

  resume(): void {
    this.#connection.resume(this);
  }

  abort(): void {
    this.#connection.abort(this);
  }
}

/**
 * Whether the upstream is likely to send another response, or more of this one, after its end. A 429 counts because it often
 * comes from a limiter inside the service that nevertheless lets the request through, and because clients can provoke one
 * whenever they like.
 */
function lateBytesAreLikely({ bodiless, status }: LastResponse, request: OutgoingRequest | null): boolean {
  return bodiless || status === 429 || (request !== null && mayAnswerTwice(request));
}

/** The state shared by a pool's connections, and how they notify the pool. */
export interface ConnectionShare extends PoolTerms {
  readonly clock: TimerClock;
  /** True while the upstream closes each connection after its response, so connections rest after each one. */
  readonly closesEach: boolean;
  /** Called when the connection may carry another request. */
  idle(connection: UpstreamConnection): void;
  /** Called when the connection may carry another request of the connection that owns it. */
  idleFor(owner: ConnectionOwner, connection: UpstreamConnection): void;
  /**
   * Called when the connection may carry another request after a rest, during which late bytes of its last response would arrive.
   */
  rest(connection: UpstreamConnection): void;
  /** Called with the stream of a connection whose protocol was switched: it has left the pool. */
  switched(stream: ByteStream): void;
  gone(connection: UpstreamConnection): void;
  /** Called when the upstream closed the connection without notice, after this many responses. */
  closedBehind(responses: number): void;
  /** Called when the connection broke on its next use: the upstream had closed it unnoticed. */
  stale(): void;
}

/**
 * What a connection to an upstream is doing.
 *
 * - `connecting` to `waiting`: the connection is established, and the request that opened it is sent
 * - `idle` to `waiting`: the pool gives it another request
 * - `idle` to `proving` to `waiting`: the same within the turn of its last response, and the next read found it open
 * - `waiting` to `answering`: the head of the final response has come, and the body is not complete
 * - `waiting` or `answering` to `idle`: the response is complete, and the connection can carry another request
 * - any to `closed`: the response was the last, something took too long or broke, the sink gave up, or the pool needs the
 *   connection no longer; from `waiting` also when the upstream switches protocols and the tunnel takes the socket
 */
type UpstreamPhase =
  /** The connection is being established; the request waits. */
  | 'connecting'
  /** Nothing is in flight. Any byte from the upstream closes the connection. */
  | 'idle'
  /** It has a request, which is sent after the next read of the socket. Any byte from the upstream closes it. */
  | 'proving'
  /** A request is being sent or was sent; the head of its response is not complete. */
  | 'waiting'
  /** The body of a response is arriving. */
  | 'answering'
  | 'closed';

/** Receives what a socket reads. */
interface Reader {
  /** The buffer that the next read fills. */
  buffer(): Buffer;
  /** Called when a read has filled the first `count` bytes. Returns false to pause reading. */
  take(count: number): boolean;
}

/** Passes the reads of one socket to its current reader: Node accepts read callbacks only when it creates a socket. */
export class Reads implements OnReadOpts {
  reader: Reader;

  constructor(reader: Reader) {
    this.reader = reader;
  }

  readonly buffer = (): Buffer => this.reader.buffer();
  readonly callback = (count: number): boolean => this.reader.take(count);
}

/** The size of an idle socket's read buffer: enough for most messages, and small enough for tens of thousands of sockets. */
const SMALL_BYTES = 4_096;

/** The upstream's side of a connection whose protocol was switched. Uses a small read buffer while few bytes arrive. */
export class SwitchedStream extends SocketStream implements Reader {
  readonly #slabs: SlabStore;
  #small = Buffer.allocUnsafeSlow(SMALL_BYTES);
  /** The buffer to read into while many bytes arrive; `null` while `#small` is enough. */
  #slab: Slab | null = null;
  #to: ByteSink | null = null;

  constructor(socket: Socket, reads: Reads, slabs: SlabStore, early: Buffer, clock: TimerClock) {
    super(socket, early, clock);
    this.#slabs = slabs;
    reads.reader = this;
    socket.on('close', () => this.#change(null));
  }

  buffer(): Buffer {
    return this.#slab === null ? this.#small : this.#slab.bytes;
  }

  take(count: number): boolean {
    const { socket } = this;
    const bytes = this.buffer();
    this.#to?.bytes(bytes.subarray(0, count));
    if (socket.isPaused()) {
      this.#leave();
      return false;
    }
    // A read that fills its buffer left more in the socket; a shorter one has emptied it.
    if (count < bytes.length) this.#change(null);
    else if (this.#slab === null && !socket.destroyed) this.#change(this.#slabs.take());
    return true;
  }

  protected override listen(sink: ByteSink): void {
    this.#to = sink;
    this.socket.resume();
  }

  /**
   * Reads into other memory from now on, because what was read has not been written yet. TLS delivers the rest of a record even
   * while its socket is paused.
   */
  #leave(): void {
    this.#slab = null;
    this.#small = Buffer.allocUnsafeSlow(SMALL_BYTES);
  }

  #change(slab: Slab | null): void {
    this.#slab?.detach();
    this.#slab = slab;
  }
}
