import type { HeaderSection } from '../hpack/index.ts';
import { Stream, type StreamEnd, type StreamHandler, type StreamHost } from '../session/index.ts';

/** One request with its response: a stream of HTTP/2. */
export class ClientStream extends Stream {
  protected readonly handler: StreamHandler;
  /** True once a header section has arrived. */
  #isBegun = false;

  /** @param endsAtOnce true if the request has no body */
  constructor(id: number, host: StreamHost, handler: StreamHandler, sendWindow: number, endsAtOnce: boolean) {
    super(id, host, sendWindow, endsAtOnce ? 'ended' : 'open', 'open');
    this.handler = handler;
  }

  end(): void {
    if (!this.isClosed && this.local === 'open') this.endLocal();
  }

  override close(end: StreamEnd): void {
    // A complete response is still passed on, at the pace of the handler.
    if (this.isReceived) this.isClosed = true;
    else super.close(end);
  }

  override onSection(section: HeaderSection, ends: boolean): void {
    this.#isBegun = true;
    super.onSection(section, ends);
  }

  override onData(bytes: Buffer, flowBytes: number, ends: boolean): void {
    if (this.#isBegun) super.onData(bytes, flowBytes, ends);
    else this.fail('a body before its head');
  }

  protected finishReceiving(): void {
    this.isDetached = true;
    this.handler.ended();
    // The response is complete: the rest of the request is not needed.
    this.cancel();
  }
}
