import type { ByteStream } from '../../core/index.ts';
import { Flow, type FlowOwner } from './frame-flow.ts';
import { CloseCode, closeFrame } from './handshake.ts';

/**
 * How long both ends have to close once the WebSocket ends; then they are cut off. An end that has got a Close may also be silent
 * for this long, because it may first finish a message (RFC 6455, 5.5.1).
 */
const CLOSING_MS = 5_000;

export interface TunnelOptions {
  /** How long the WebSocket may be without a byte in either direction before it is closed. */
  readonly idleMs: number;
  /** True if an extension was negotiated. */
  readonly extended: boolean;
  /** Returns the four bytes that mask a Close frame for the upstream. */
  readonly mask: () => Uint8Array;
  /** Called last, when both connections are gone. Must not throw. */
  readonly over: (tunnel: Tunnel) => void;
}

/**
 * How a WebSocket ended. Leaves `open` once, for the first cause, and keeps it:
 * - `open`: it has not
 * - `closed`: by a Close frame of one end
 * - `client`, `upstream`: this end disconnected without a Close frame
 * - `fault`: one end sent something other than a frame
 * - `gateway`: `finish` or `revoke` was called, or the WebSocket was idle for too long
 * - `failure`: the gateway failed, see `failure`
 */
export type TunnelEnd = 'open' | 'closed' | 'client' | 'upstream' | 'fault' | 'gateway' | 'failure';

/** A WebSocket between a client and an upstream. Has no clock: sweeps detect timeouts. */
export class Tunnel implements FlowOwner {
  readonly #client: ByteStream;
  readonly #upstream: ByteStream;
  readonly #options: TunnelOptions;
  readonly toUpstream: Flow;
  readonly toClient: Flow;
  end: TunnelEnd = 'open';
  /** The first error thrown inside the gateway; `null` if none was. */
  failure: { readonly thrown: unknown } | null = null;
  #gone = 0;
  #passed = 0;
  #sinceMs: number;
  /** True once the WebSocket is ending: both ends must close in time, counted from `#sinceMs`. */
  #closing = false;

  constructor(client: ByteStream, upstream: ByteStream, nowMs: number, options: TunnelOptions) {
    const { extended } = options;
    this.#client = client;
    this.#upstream = upstream;
    this.#options = options;
    this.#sinceMs = nowMs;
    this.toUpstream = new Flow(client, upstream, { masked: true, extended }, this);
    this.toClient = new Flow(upstream, client, { masked: false, extended }, this);
  }

  start(): void {
    this.toClient.start();
    this.toUpstream.start();
  }

  /** Ends the WebSocket with a Close frame to both ends, after their current frames. */
  finish(code: CloseCode, reason: string): void {
    if (this.#closing) return;
    this.#ends('gateway');
    this.#closeBoth(code, reason);
  }

  /**
   * Ends the WebSocket because the client must not continue: nothing it sends reaches the upstream any more, not even the end of
   * a frame. The upstream's current frame ends first, so that the client can be informed.
   */
  revoke(code: CloseCode, reason: string): void {
    this.#ends('gateway');
    this.#close(this.toClient, code, reason);
    this.toUpstream.cutWith(closeFrame(code, reason, this.#options.mask()));
  }

  /** Checks for timeouts. */
  sweep(nowMs: number): void {
    const passed = this.toUpstream.passed + this.toClient.passed;
    // NaN means that it began to close since the last sweep.
    if (Number.isNaN(this.#sinceMs) || (!this.#closing && passed !== this.#passed)) this.#sinceMs = nowMs;
    this.#passed = passed;
    const waitedMs = nowMs - this.#sinceMs;
    const isHalfClosed = this.toClient.sentClose || this.toUpstream.sentClose;
    if (this.#closing) {
      if (waitedMs >= CLOSING_MS) this.#cut();
    } else if (isHalfClosed && waitedMs >= CLOSING_MS) {
      this.#ends('closed');
      this.#closeBoth(CloseCode.goingAway, 'no Close came back');
    } else if (waitedMs >= this.#options.idleMs) this.finish(CloseCode.goingAway, 'idle');
  }

  drained(flow: Flow): void {
    this.#reverseOf(flow).unblock();
  }

  closePassed(): void {
    if (this.toClient.sentClose && this.toUpstream.sentClose) this.#ends('closed');
  }

  /**
   * Ends the WebSocket because a sender broke the rules of frames. The sender gets a Close after the current frame to it. The
   * receiver may have a part of an invalid frame: a Close would make that look complete, so it is cut off without one, as soon as
   * it need not finish its own frame.
   */
  faulty(flow: Flow): void {
    this.#ends('fault');
    const back = this.#reverseOf(flow);
    if (back.over) this.#sourceOf(back).destroy();
    else this.#close(back, CloseCode.protocolError, 'not a WebSocket frame');
  }

  lastSent(flow: Flow): void {
    if (this.#reverseOf(flow).fault !== null) this.#sourceOf(flow).destroy();
  }

  sourceEnded(flow: Flow): void {
    this.#ends(this.#endBy(flow));
  }

  sourceGone(flow: Flow): void {
    this.#gone++;
    try {
      this.#leave(flow);
    } catch (fault) {
      this.failed(fault);
    }
    if (this.#gone === 2) this.#options.over(this);
  }

  /** Ends the WebSocket because the gateway failed. Each end that is between two frames is informed. */
  failed(fault: unknown): void {
    this.failure ??= { thrown: fault };
    try {
      this.#ends('failure');
      const [code, reason] = [CloseCode.internalError, 'the gateway failed'] as const;
      this.toClient.cutWith(closeFrame(code, reason, null));
      this.toUpstream.cutWith(closeFrame(code, reason, this.#options.mask()));
      // With one end gone, there may be no further sweep: cut off the other end now.
      if (this.#gone > 0) this.#cut();
    } catch {
      this.#cut();
    }
  }

  #leave(flow: Flow): void {
    this.#ends(this.#endBy(flow));
    if (flow === this.toUpstream) {
      this.toClient.stop();
      // Without the client's connection there are no sweeps, and nothing receives what the upstream still sends.
      this.#upstream.endSoon();
    } else this.toUpstream.stop();
  }

  #reverseOf(flow: Flow): Flow {
    return flow === this.toUpstream ? this.toClient : this.toUpstream;
  }

  #sourceOf(flow: Flow): ByteStream {
    return flow === this.toUpstream ? this.#client : this.#upstream;
  }

  /** Sends a Close to both ends, unless their flow has ended. */
  #closeBoth(code: CloseCode, reason: string): void {
    this.#close(this.toClient, code, reason);
    this.#close(this.toUpstream, code, reason);
  }

  #close(flow: Flow, code: CloseCode, reason: string): void {
    flow.closeWith(closeFrame(code, reason, flow === this.toClient ? null : this.#options.mask()));
  }

  #endBy(flow: Flow): TunnelEnd {
    if (flow.sentClose) return 'closed';
    return flow === this.toUpstream ? 'client' : 'upstream';
  }

  #ends(end: TunnelEnd): void {
    if (this.end === 'open') this.end = end;
    if (this.#closing) return;
    this.#closing = true;
    this.#sinceMs = Number.NaN;
  }

  #cut(): void {
    this.#client.destroy();
    this.#upstream.destroy();
  }
}
