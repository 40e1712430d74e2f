import { type ClientHttp2Session, connect, type Settings } from 'node:http2';
import type { Socket } from 'node:net';
import { type Clock, holdSession, Roster, StallTimer } from '../../core/index.ts';
import type { Connect } from '../connect.ts';
import type { UpstreamOptions } from '../options.ts';
import { requestHeaders } from './request-headers.ts';
import type { CallSession, StreamCall } from './stream-call.ts';
import { sessionOptions, WINDOW_BYTES } from './upstream-session-options.ts';

/** Streams that a connection has identifiers for, less a margin. RFC 9113, 5.1.1: the odd ones below 2^31. */
const MAX_CARRIED = 2 ** 30 - 1_000;
/** How long after our GOAWAY the connection may stay open. */
const CLOSE_MS = 1_000;

/** What the sessions of a pool share. */
export interface SessionShare {
  readonly options: UpstreamOptions;
  readonly clock: Clock;
  readonly connect: Connect;
  /** There may be room for another call: the session is new, or a stream has closed. */
  vacant(session: Session): void;
  /** The session takes no further call. */
  retired(session: Session): void;
  /** The connection is closed. `cause`: it never served. */
  gone(session: Session, cause: Error | null): void;
}

/** What a session is doing. */
type Phase =
  /** The connection is being made, or the upstream's SETTINGS have not come. */
  | 'connecting'
  /** It takes calls. */
  | 'open'
  /** It takes no further calls and closes after the last one. */
  | 'draining'
  /** A GOAWAY is going out. */
  | 'closing'
  | 'closed';

/**
 * An HTTP/2 connection to an upstream, with the calls on its streams. Waits for the upstream's SETTINGS before the first call:
 * they prove that it speaks HTTP/2, and say how many streams it allows.
 */
export class Session implements CallSession {
  broken: Error | null = null;
  lastStreamId = Number.POSITIVE_INFINITY;
  readonly #share: SessionShare;
  readonly #socket: Socket;
  readonly #session: ClientHttp2Session;
  readonly #scheme: 'http' | 'https';
  #phase: Phase = 'connecting';
  readonly #calls = new Roster<StreamCall>();
  /** Requests carried so far. */
  #carried = 0;
  /** Streams that the upstream allows at once. */
  #maxStreams = 0;
  #bornAt: number;
  readonly #maxAgeMs: number;
  #closedUnawares = false;
  /** How long the connection is being made, is idle, or is being closed. */
  readonly #stall = new StallTimer();
  /** How long nothing has been received. */
  readonly #silence = new StallTimer();
  #bytesRead = 0;
  /** How long a PING has been unacknowledged. */
  readonly #pingWait = new StallTimer();
  #pinged = false;

  /** `chance`, 0 up to 1, takes up to a fifth off the connection's age, so that a burst does not close all at once. */
  constructor(share: SessionShare, chance: number) {
    const { options, clock } = share;
    this.#share = share;
    this.#scheme = options.tls === null ? 'http' : 'https';
    this.#bornAt = clock.monotonicMs();
    this.#maxAgeMs = options.maxAgeMs * (1 - chance / 5);
    this.#socket = share.connect(options);
    this.#session = connect(urlOf(this.#scheme, options), {
      ...sessionOptions(options),
      createConnection: () => this.#socket,
    });
    this.#session.on('connect', session => this.#onConnect(session));
    this.#session.on('remoteSettings', settings => this.#onSettings(settings));
    this.#session.on('goaway', (_code, lastStreamId) => this.#onGoaway(lastStreamId));
    this.#session.on('error', error => this.#onBroken(error));
    this.#socket.on('error', error => this.#onLost(error));
    this.#socket.on('end', () => this.#onLost(new Error('the upstream closed the connection')));
    this.#socket.on('close', () => this.#onClose());
  }

  /** Whether it is established. */
  get open(): boolean {
    return this.#phase === 'open' || this.#phase === 'draining';
  }

  get connecting(): boolean {
    return this.#phase === 'connecting';
  }

  /** Whether it may take a further call, now or soon. */
  get accepts(): boolean {
    return this.#phase === 'open' || this.#phase === 'connecting';
  }

  /** Calls on its streams. */
  get calls(): number {
    return this.#calls.size;
  }

  get maxStreams(): number {
    return this.#maxStreams;
  }

  get hasRoom(): boolean {
    return this.#phase === 'open' && this.#calls.size < this.#maxStreams && !this.#session.closed;
  }

  get closedUnawares(): boolean {
    return this.#carried > 1 && this.#closedUnawares;
  }

  /** Opens a stream for the call. Call it only if there is room. */
  carry(call: StreamCall): void {
    this.#carried++;
    this.#calls.add(call);
    const { request } = call;
    const headers = requestHeaders(request, this.#scheme);
    call.begin(this.#session.request(headers, { endStream: request.body === null }), this);
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

  /** Takes no further call. Closes at once if none is in flight, else after the last one. */
  retire(): void {
    if (this.#phase !== 'open' && this.#phase !== 'connecting') return;
    const wasOpen = this.#phase === 'open';
    this.#phase = 'draining';
    if (this.#calls.size === 0) this.#close();
    if (wasOpen) this.#share.retired(this);
  }

  /** Checks whether something has taken too long. */
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
    const isIdle = this.#calls.size === 0 && waitedMs >= this.#share.options.keepAliveMs;
    if (isIdle || nowMs - this.#bornAt > this.#maxAgeMs || this.#carried > MAX_CARRIED) this.retire();
    this.#listen(nowMs);
    for (const call of this.#calls) call.sweep(nowMs, 0, this);
  }

  /** Pings an upstream that has been silent for long, and cuts the connection if nothing comes back. */
  #listen(nowMs: number): void {
    const { pingIntervalMs, pingTimeoutMs } = this.#share.options.http2;
    const { bytesRead } = this.#socket;
    const heard = bytesRead !== this.#bytesRead;
    this.#bytesRead = bytesRead;
    const silentMs = this.#silence.waitedMs(nowMs, heard || this.#calls.size === 0);
    if (heard) this.#pinged = false;
    if (!this.#pinged) {
      if (silentMs >= pingIntervalMs) this.#ping();
    } else if (this.#pingWait.waitedMs(nowMs, false) > pingTimeoutMs)
      this.#cut(new Error('the upstream does not answer a PING'));
  }

  #ping(): void {
    if (this.#pinged || !this.open || this.#session.closed) return;
    this.#pinged = true;
    this.#pingWait.begin();
    this.#session.ping(() => {});
  }

  #onConnect(session: ClientHttp2Session): void {
    this.#socket.on('close', holdSession(session));
    if (!session.destroyed) session.setLocalWindowSize(WINDOW_BYTES);
  }

  #onSettings({ maxConcurrentStreams = Number.POSITIVE_INFINITY }: Settings): void {
    this.#maxStreams = maxConcurrentStreams;
    if (this.#phase === 'connecting') {
      this.#phase = 'open';
      this.#bornAt = this.#share.clock.monotonicMs();
      this.#stall.begin();
    }
    if (this.#phase === 'open') this.#share.vacant(this);
  }

  /** RFC 9113, 6.8. */
  #onGoaway(lastStreamId: number): void {
    this.lastStreamId = lastStreamId;
    this.retire();
  }

  #onBroken(error: Error): void {
    this.broken ??= error;
  }

  /** The upstream has closed or reset the connection. */
  #onLost(error: Error): void {
    if (this.broken === null) this.#closedUnawares = true;
    this.#onBroken(error);
  }

  /** Lets a GOAWAY go out and closes the connection. */
  #close(): void {
    this.#phase = 'closing';
    this.#stall.begin();
    this.#session.destroy();
  }

  /** Closes without GOAWAY, and fails the calls in flight. */
  #cut(cause: Error): void {
    this.#onBroken(cause);
    this.#socket.destroy();
  }

  #onClose(): void {
    const neverServed = this.#phase === 'connecting';
    this.#phase = 'closed';
    this.#onBroken(new Error('the connection was closed'));
    this.#share.gone(this, neverServed ? this.broken : null);
  }
}

/** The URL of the upstream, with an IPv6 address in brackets (RFC 3986, 3.2.2). */
function urlOf(scheme: string, { host, port }: UpstreamOptions): string {
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
