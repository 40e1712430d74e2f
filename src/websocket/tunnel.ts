import type { ByteStream } from '../core/index.ts';
import { Flow, type FlowOwner } from './frame-flow.ts';
import { CloseCode, closeFrame } from './handshake.ts';

/**
 * How long both ends have to close once the WebSocket ends; then they are cut. An end that got a Close may be silent for as long: it
 * may first finish a message (RFC 6455, 5.5.1).
 */
const CLOSING_MS = 5_000;

export interface TunnelOptions {
  /** The WebSocket is closed after this time without a byte in either direction. */
  readonly idleMs: number;
  /** An extension was agreed on. */
  readonly extended: boolean;
  /** The four bytes that mask a Close frame for the upstream. */
  readonly mask: () => Uint8Array;
  /** Both connections are gone. The last call. Must not throw. */
  readonly over: (tunnel: Tunnel) => void;
}

/**
 * How a WebSocket ended:
 * - `open`: it has not
 * - `closed`: by a Close frame of one end
 * - `client`, `upstream`: this end went without a Close frame
 * - `fault`: one end sent what is no frame
 * - `gateway`: `finish` or `revoke` was called, or it stood idle
 * - `failure`: the gateway failed, see `failure`
 */
export type TunnelEnd = 'open' | 'closed' | 'client' | 'upstream' | 'fault' | 'gateway' | 'failure';

/** A WebSocket between a client and an upstream. Knows no clock: what takes too long is found by sweeps. */
export class Tunnel implements FlowOwner {
  readonly #client: ByteStream;
  readonly #upstream: ByteStream;
  readonly #options: TunnelOptions;
  readonly toUpstream: Flow;
  readonly toClient: Flow;
  end: TunnelEnd = 'open';
  /** What was thrown inside the gateway, first; null: nothing was. */
  failure: { readonly thrown: unknown } | null = null;
  #gone = 0;
  #passed = 0;
  #sinceMs: number;
  /** It ends, or half of it has: the rest has a deadline, which counts from `#sinceMs`. */
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

  /** Ends it from here: with a Close frame to both ends, behind the frames that are passing. */
  finish(code: CloseCode, reason: string): void {
    if (this.#closing) return;
    this.#ends('gateway');
    this.#closeBoth(code, reason);
  }

  /**
   * Ends it because the client may not go on: what it sends no longer reaches the upstream, not even the rest of a frame. The upstream's
   * frame that is passing ends first, so that the client can be told.
   */
  revoke(code: CloseCode, reason: string): void {
    this.#ends('gateway');
    this.#close(this.toClient, code, reason);
    this.toUpstream.cutWith(closeFrame(code, reason, this.#options.mask()));
  }

  /** Checks whether something has taken too long. */
  sweep(nowMs: number): void {
    const passed = this.toUpstream.passed + this.toClient.passed;
    // NaN: it began to close since the last sweep.
    if (Number.isNaN(this.#sinceMs) || (!this.#closing && passed !== this.#passed)) this.#sinceMs = nowMs;
    this.#passed = passed;
    const waitedMs = nowMs - this.#sinceMs;
    if (this.#closing) {
      if (waitedMs >= CLOSING_MS) this.#cut();
    } else if (this.#halfClosed && waitedMs >= CLOSING_MS) {
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
   * The sender gets a Close behind the frame that is passing to it. The receiver has part of what its sender did not mean: it gets no
   * Close, which would make that look whole, and is cut as soon as it need not finish that frame.
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

  /** Ends it because the gateway failed. What is between two frames is told. */
  failed(fault: unknown): void {
    this.failure ??= { thrown: fault };
    try {
      this.#ends('failure');
      const [code, reason] = [CloseCode.internalError, 'the gateway failed'] as const;
      this.toClient.cutWith(closeFrame(code, reason, null));
      this.toUpstream.cutWith(closeFrame(code, reason, this.#options.mask()));
      // No sweep may come that ends the rest.
      if (this.#gone > 0) this.#cut();
    } catch {
      this.#cut();
    }
  }

  #leave(flow: Flow): void {
    this.#ends(this.#endBy(flow));
    if (flow === this.toUpstream) {
      this.toClient.stop();
      // Without the client's connection there are no sweeps, and no one to receive what the upstream still sends.
      this.#upstream.endSoon();
    } else this.toUpstream.stop();
  }

  /** One end has sent a Close, and the other has yet to. */
  get #halfClosed(): boolean {
    return this.toClient.sentClose || this.toUpstream.sentClose;
  }

  #reverseOf(flow: Flow): Flow {
    return flow === this.toUpstream ? this.toClient : this.toUpstream;
  }

  #sourceOf(flow: Flow): ByteStream {
    return flow === this.toUpstream ? this.#client : this.#upstream;
  }

  /** A flow that has ended takes no further Close. */
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
