import type { BodyLength, BodySource, FieldNames, Release, RosterEntry } from '../core/index.ts';
import { authorityAt, inNextTurn, StallTimer } from '../core/index.ts';
import type { OutgoingRequest, RequestWriterOwner } from '../wire/http1/index.ts';
import { BodyWriter, MalformedMessage, statesLength } from '../wire/http1/index.ts';
import type { ClientStream, HeaderSection, StreamEnd, StreamHandler } from '../wire/http2/index.ts';
import { ErrorCode } from '../wire/http2/index.ts';
import { type SessionFate, StreamResponse, streamFailure } from './stream-response.ts';
import type { CallSink, TransportCall, UpstreamFailure, UpstreamOptions } from './transport.ts';
import { BrokenRequest, SilentResponse } from './transport.ts';

/** Holds a call: first its queue, then its session. */
export interface CallHolder {
  /** Called when the call is over and its stream, if any, is closed. */
  released(call: StreamCall): void;
}

export interface CallSession extends CallHolder, SessionFate {
  /** How often something was written. The next write includes what a stream has sent. */
  readonly writes: number;
  /** Called when a request got no response in time. */
  suspect(): void;
}

/**
 * What a call to an upstream is doing.
 *
 * - `queued` to `waiting`: a session has opened a stream for it
 * - `waiting` to `answering`: the head of the final response has come, and a body follows
 * - any to `over`: the response is complete or not valid, something took too long, the stream or its session broke, or the sink
 *   gave up
 */
type CallPhase =
  /** Waiting for a stream. */
  | 'queued'
  /** The request is being sent or was sent; the head of the response has not arrived. */
  | 'waiting'
  /** The body of the response is arriving. */
  | 'answering'
  | 'over';

/** A request and its response on an HTTP/2 stream. */
export class StreamCall implements TransportCall, RequestWriterOwner, StreamHandler, RosterEntry {
  place = -1;
  readonly request: OutgoingRequest;
  readonly #sink: CallSink;
  readonly #response: StreamResponse;
  #holder: CallHolder;
  #phase: CallPhase = 'queued';
  #stream: ClientStream | null = null;
  #session: CallSession | null = null;
  #writer: StreamBodyWriter | null = null;
  #requestSent = false;
  /** How often the session had written when the stream was opened. */
  #writesBefore = 0;
  /** True while the sink is paused. */
  #paused = false;
  readonly #stall = new StallTimer();
  /** Bytes sent plus interim responses received, at the last sweep. */
  #progress = 0;

  constructor(request: OutgoingRequest, sink: CallSink, queue: CallHolder, options: UpstreamOptions) {
    this.#response = new StreamResponse(request.method, sink, options.protocol === 'grpc');
    this.request = request;
    this.#sink = sink;
    this.#holder = queue;
  }

  get heldBytes(): number {
    return this.#stream?.heldBytes ?? 0;
  }

  get isQueued(): boolean {
    return this.#phase === 'queued';
  }

  /** Takes the stream on which the request has been opened. */
  begin(stream: ClientStream, session: CallSession): void {
    const { body, bodyLength } = this.request;
    this.#holder = session;
    this.#session = session;
    this.#stream = stream;
    this.#writesBefore = session.writes;
    this.#phase = 'waiting';
    this.#stall.begin();
    if (body === null) {
      this.requestSent();
      return;
    }
    this.#writer = new StreamBodyWriter(stream, body, bodyLength, this);
    this.#writer.start();
  }

  resume(): void {
    if (!this.#paused || this.#phase === 'over') return;
    this.#paused = false;
    // Nothing was read during the pause, so the upstream's time restarts.
    this.#stall.begin();
    this.#stream?.resume();
  }

  abort(): void {
    this.#finish();
  }

  /** Checks for timeouts. */
  sweep(nowMs: number, maxQueuedMs: number, session: CallSession | null): void {
    if (this.#phase === 'over') return;
    const waitedMs = this.#stall.waitedMs(nowMs, this.#phase === 'waiting' && !this.#waitsForUpstream());
    const { firstByteTimeoutMs, idleTimeoutMs } = this.request;
    const within = (limitMs: number | null) => limitMs === null || waitedMs <= limitMs;
    if (this.#phase === 'queued') {
      if (waitedMs > maxQueuedMs) this.fail('connect', new Error('no stream was free in time'));
    } else if (this.#phase === 'waiting') {
      if (within(firstByteTimeoutMs)) return;
      session?.suspect();
      this.fail('timeout', new Error('no response came in time'));
    } else if (!this.#paused && !within(idleTimeoutMs)) {
      session?.suspect();
      this.fail('truncated', new SilentResponse());
    }
  }

  requestSent(): void {
    this.#requestSent = true;
    this.#stall.begin();
  }

  requestBroken(): void {
    this.fail('reset', new BrokenRequest());
  }

  /**
   * Ends the call with a failure. If the head of the response has arrived, its kind is `truncated`, unless the gateway failed.
   */
  fail(kind: UpstreamFailure['kind'], cause: unknown): void {
    this.#fail({ kind, cause, onReusedConnection: false, resetCode: null });
  }

  #fail(how: Omit<UpstreamFailure, 'responseBegun'>): void {
    const { inBody, begun: responseBegun } = this.#response;
    const isTruncated = inBody && how.kind !== 'fault';
    if (isTruncated) this.#response.handOn();
    // The sink may have given up the exchange.
    if (this.#isOver()) return;
    this.#finish();
    this.#sink.fail({ ...how, kind: isTruncated ? 'truncated' : how.kind, responseBegun });
  }

  /**
   * Whether the gateway waits for the upstream: it sends nothing, and either has the complete request or does not accept the rest.
   */
  #waitsForUpstream(): boolean {
    const progress = (this.#writer?.bytesTaken ?? 0) + this.#response.interim.sweep();
    const moved = progress !== this.#progress;
    this.#progress = progress;
    return !moved && (this.#requestSent || (this.#stream?.unsent ?? 0) > 0);
  }

  /** Reads a part of the response. Ends the call if it was the last part, or invalid. */
  #read(part: () => void): void {
    if (this.#phase === 'over') return;
    try {
      part();
    } catch (error) {
      const isTheirs = error instanceof MalformedMessage;
      this.#stream?.cancel(isTheirs ? ErrorCode.PROTOCOL_ERROR : ErrorCode.INTERNAL_ERROR);
      this.fail(isTheirs ? 'malformed' : 'fault', error);
      return;
    }
    if (this.#response.over) this.#finish();
    else if (this.#response.inBody) {
      this.#phase = 'answering';
      this.#stall.begin();
    }
  }

  section(section: HeaderSection, ends: boolean): void {
    this.#read(() => this.#response.readSection(section, ends));
  }

  data(bytes: Buffer, release: Release | null): boolean {
    this.#read(() => {
      this.#paused = !this.#response.readData(bytes, release);
    });
    return !this.#paused;
  }

  ended(): void {
    this.#read(() => this.#response.readEnd());
  }

  drained(): void {
    this.#writer?.drained();
  }

  closed(end: StreamEnd): void {
    const session = this.#session;
    if (session === null) return;
    const how = streamFailure(end, session);
    const isUnsent = end.how === 'lost' && how.kind === 'reset' && session.writes === this.#writesBefore;
    if (isUnsent) this.#fail({ ...how, kind: 'unsent' });
    else this.#fail(this.#response.begun && how.kind === 'refused' ? { ...how, kind: 'reset' } : how);
  }

  #isOver(): boolean {
    return this.#phase === 'over';
  }

  /** Ends the call. After it, only the caller of this method may use the sink. */
  #finish(): void {
    if (this.#phase === 'over') return;
    const wasQueued = this.#phase === 'queued';
    this.#phase = 'over';
    this.#writer?.stop();
    this.#response.stop();
    if (wasQueued || !this.#stream?.cancel()) this.#holder.released(this);
    // Wait for a turn: servers on Node count a stream until they have handled what arrived together with its RST_STREAM.
    else inNextTurn(() => this.#holder.released(this));
  }
}

/** The index of the value of `:authority` in the section. */
const AUTHORITY = 5;

/** Scheme and authority, shared by all requests to an upstream. */
export interface Origin {
  readonly scheme: 'http' | 'https';
  readonly authority: string;
}

/**
 * Makes the header section of a request, names and values in turn (RFC 9113, 8.3.1).
 *
 * @param origin its authority is used for requests without a host
 */
export function requestSection(request: OutgoingRequest, origin: Origin): string[] {
  const { method, target, fields, bodyLength, takesTrailers } = request;
  const { scheme, authority } = origin;
  const headers = [':method', method, ':scheme', scheme, ':authority', authority, ':path', target];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    const value = fields[i + 1] as string;
    // RFC 9113, 8.3.1: `:authority` replaces Host.
    if (!(name.length === 4 && name.toLowerCase() === 'host')) headers.push(name, value);
    else if (value !== '') headers[AUTHORITY] = value;
  }
  if (takesTrailers) headers.push('te', 'trailers');
  if (statesLength(request)) headers.push('content-length', String(bodyLength));
  return headers;
}

/** Names the fields of the section that are never indexed: a client's mark on Host (RFC 7541, 7.1.3) applies to `:authority`. */
export function neverIndexedHeaders({ neverIndexed }: OutgoingRequest): FieldNames {
  return neverIndexed.has('host') ? new Set([...neverIndexed, ':authority']) : neverIndexed;
}

export function originOf({ name, port, tls }: Pick<UpstreamOptions, 'name' | 'port' | 'tls'>): Origin {
  const authority = authorityAt({ host: name, port }, tls !== null);
  return { scheme: tls === null ? 'http' : 'https', authority };
}

/** Writes the body of a request into its stream, as fast as the upstream's windows allow. */
export class StreamBodyWriter extends BodyWriter {
  readonly #stream: ClientStream;

  constructor(stream: ClientStream, source: BodySource, length: BodyLength, owner: RequestWriterOwner) {
    super(source, length, owner);
    this.#stream = stream;
  }

  /** Bytes that have been sent. */
  get bytesTaken(): number {
    return this.written - this.#stream.unsent;
  }

  protected override write(bytes: Buffer): boolean {
    return this.#stream.write(bytes);
  }

  protected override finish(): void {
    this.#stream.end();
  }
}
