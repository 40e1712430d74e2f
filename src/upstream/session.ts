import { Roster, StallTimer } from '../core/index.ts';
import { ErrorCode, type Http2Fault, Liveness } from '../wire/http2/index.ts';
import { Lifetime, type PoolTerms } from './pool.ts';
import { SessionSocket, type SessionSocketOwner } from './session-socket.ts';
import type { CallSession, Origin, StreamCall } from './stream-call.ts';
import { neverIndexedHeaders, originOf, requestSection } from './stream-call.ts';
import { goawayError, type OwnFault } from './stream-response.ts';

/**
 * Maximum calls on one connection: half of the stream identifiers (RFC 9113, 5.1.1), since many may be opened between two sweeps.
 */
const MAX_CARRIED = 2 ** 29;
/** Maximum bytes waiting for an upstream that does not read: heads and control frames, since bodies wait elsewhere. */
const MAX_UNWRITTEN_BYTES = 16_777_216;
/** How long after our GOAWAY the connection may stay open. */
const CLOSE_MS = 1_000;

/** The state shared by a pool's sessions, and how they notify the pool of changes. */
export interface SessionShare extends PoolTerms {
  /** Called when there may be room for another call: the session is new, or a stream has closed. */
  vacant(session: UpstreamSession): void;
  /** Called when the session takes no further calls. Only for a session that carried at least one. */
  retired(session: UpstreamSession): void;
  /** Called when the connection is closed. `cause` is set if it never carried a call. */
  gone(session: UpstreamSession, cause: Error | null): void;
}

/**
 * What a session with an upstream is doing.
 *
 * - `connecting` to `open`: the upstream's SETTINGS have come
 * - `connecting` or `open` to `draining`: the upstream sent GOAWAY, the session is idle or too old, or its endpoint is no longer used
 * - `draining` to `closing`: no call is left, at once if there was none
 * - any to `closing`: the connect timed out, the connection broke, or the upstream broke the protocol or stopped answering
 * - `closing` to `closed`: the socket is closed
 */
type SessionPhase =
  /** The connection is being made, or the upstream's SETTINGS have not arrived. */
  | 'connecting'
  /** It takes calls. */
  | 'open'
  /** It takes no further calls and closes after the last one. */
  | 'draining'
  /** A GOAWAY is going out, or the connection has broken. */
  | 'closing'
  | 'closed';

/**
 * An HTTP/2 connection to an upstream, with the calls on its streams. Waits for the upstream's SETTINGS before the first call:
 * they prove that it speaks HTTP/2, and contain its maximum of streams.
 */
export class UpstreamSession implements CallSession, SessionSocketOwner {
  broken: Error | null = null;
  readonly #share: SessionShare;
  readonly #socket: SessionSocket;
  readonly #origin: Origin;
  #phase: SessionPhase = 'connecting';
  readonly #calls = new Roster<StreamCall>();
  /** Requests carried so far. */
  #carried = 0;
  readonly #lifetime: Lifetime;
  #closedWhileIdle = false;
  /** The upstream's GOAWAY, if it named an error. */
  #departure: Error | null = null;
  /** Times how long the connection has been connecting, idle or closing. */
  readonly #stall = new StallTimer();
  readonly #liveness = new Liveness();

  /** @param chance from 0 to 1, shortens the connection's life; see `Lifetime` */
  constructor(share: SessionShare, chance: number) {
    const { options, clock } = share;
    this.#share = share;
    this.#origin = originOf(options);
    this.#lifetime = new Lifetime(options, chance, clock.monotonicMs());
    this.#socket = new SessionSocket(share, this);
  }

  get open(): boolean {
    return this.#phase === 'open' || this.#phase === 'draining';
  }

  get connecting(): boolean {
    return this.#phase === 'connecting';
  }

  /** Whether it may take another call, now or soon. */
  get accepts(): boolean {
    return this.#phase === 'open' || this.#phase === 'connecting';
  }

  /** How many calls are on its streams. */
  get calls(): number {
    return this.#calls.size;
  }

  get writes(): number {
    return this.#socket.writes;
  }

  get maxStreams(): number {
    return this.#socket.session.maxStreams;
  }

  get hasRoom(): boolean {
    return this.#phase === 'open' && this.#calls.size < this.maxStreams;
  }

  get closedWhileIdle(): boolean {
    return this.#carried > 1 && this.#closedWhileIdle;
  }

  /** Opens a stream for the call. Call it only if there is room. */
  carry(call: StreamCall): void {
    const { request } = call;
    const { session } = this.#socket;
    const headers = requestSection(request, this.#origin);
    // RFC 9113, 6.5.2. Some servers, such as grpc-java, would close the connection, and end the calls of others with it.
    if (!session.accepts(headers)) {
      call.fail('oversized', new Error('the upstream takes no header section of this size'));
      return;
    }
    this.#carried++;
    this.#calls.add(call);
    const stream = session.request(headers, call, request.body === null, neverIndexedHeaders(request));
    call.begin(stream, this);
  }

  released(call: StreamCall): void {
    this.#calls.delete(call);
    if (this.#calls.size === 0) this.#stall.begin();
    if (this.#phase === 'open') this.#share.vacant(this);
    else if (this.#phase === 'draining' && this.#calls.size === 0) this.#close();
  }

  suspect(): void {
    this.#ping();
  }

  /** Takes no further calls. Closes at once if none is in flight, else after the last one. */
  retire(): void {
    if (this.#phase !== 'open' && this.#phase !== 'connecting') return;
    const wasOpen = this.#phase === 'open';
    this.#phase = 'draining';
    if (this.#calls.size === 0) this.#close();
    if (wasOpen && this.#carried > 0) this.#share.retired(this);
  }

  /** Checks for timeouts. */
  sweep(nowMs: number): void {
    const { options } = this.#share;
    const waitedMs = this.#stall.waitedMs(nowMs, false);
    if (this.#phase === 'connecting') {
      if (waitedMs > options.connectTimeoutMs) this.#cut(new Error('the connect timed out'));
    } else if (this.#phase === 'closing') {
      if (waitedMs > CLOSE_MS) this.#socket.destroy();
    } else if (this.#phase !== 'closed') this.#sweepOpen(nowMs, waitedMs);
  }

  #sweepOpen(nowMs: number, waitedMs: number): void {
    this.#lifetime.age(nowMs);
    const isIdle = this.#calls.size === 0 && this.#lifetime.mustCloseAfter(waitedMs);
    if (isIdle || this.#lifetime.isTooOld || this.#carried > MAX_CARRIED) this.retire();
    for (const call of this.#calls) call.sweep(nowMs, 0, this);
    const next = this.#liveness.sweep(
      nowMs,
      this.#socket.bytesRead,
      this.#calls.size === 0,
      this.#share.options.http2,
    );
    if (next === 'ping') this.#ping();
    else if (next === 'give up') this.#cut(new Error('the upstream does not answer a PING'));
    if (this.#socket.session.unwritten > MAX_UNWRITTEN_BYTES)
      this.#cut(new Error('the upstream does not read'));
  }

  #ping(): void {
    if (this.open && this.#liveness.ping()) this.#socket.session.sendPing();
  }

  settingsRead(): void {
    if (this.#phase === 'connecting') {
      this.#phase = 'open';
      this.#lifetime.begin(this.#share.clock.monotonicMs());
      this.#stall.begin();
    }
    if (this.#phase === 'open') this.#share.vacant(this);
  }

  /** RFC 9113, 6.8: whatever the code, streams that the upstream has processed may still complete. */
  goaway(_lastStream: number, code: number): void {
    if (code !== ErrorCode.NO_ERROR) this.#departure ??= goawayError(code);
    this.retire();
  }

  faulty(fault: Http2Fault | OwnFault): void {
    this.#break(fault);
  }

  deaf(): void {
    this.retire();
  }

  lost(error: Error): void {
    if (this.#phase === 'closing') return;
    this.#closedWhileIdle = this.#departure === null;
    this.#cut(this.#departure ?? error);
  }

  closed(): void {
    this.#cut(this.#departure ?? new Error('the connection was closed'));
    this.#phase = 'closed';
    this.#share.gone(this, this.#carried > 0 ? null : this.broken);
  }

  /** Sends a GOAWAY and closes the connection. */
  #close(): void {
    this.#phase = 'closing';
    this.#stall.begin();
    this.#socket.endSoon();
  }

  /** Closes without GOAWAY, and fails the calls in flight. */
  #cut(cause: Error): void {
    this.#break(cause);
    this.#socket.destroy();
  }

  /** Takes no further calls, and fails those in flight with this cause, unless there is already another one. */
  #break(cause: Error): void {
    this.broken ??= cause;
    const accepted = this.accepts;
    this.#phase = 'closing';
    this.#stall.begin();
    if (accepted && this.#carried > 0) this.#share.retired(this);
  }
}
