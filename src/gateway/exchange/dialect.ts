import type { Fields, GatewayError, Protocol } from '../../core/index.ts';
import type { Rejection } from '../../http1/index.ts';
import type { UpstreamFailure } from '../../upstream/index.ts';
import type { RenderedResponse } from '../responses/index.ts';
import type { Downstream } from './downstream.ts';
import type { Response } from './response.ts';

/**
 * What differs between plain HTTP requests and calls of a protocol on top of HTTP. Chosen once, when a request arrives; no gate
 * and no terminal asks which one it is.
 */
export interface Dialect {
  /** The protocol for the record; null: that of the connection. */
  readonly protocol: Protocol | null;
  /** Whether clients must send and take bytes in time; else a stream may rest for as long as its connection lives. */
  readonly isPaced: boolean;
  /** The method to look up routes by. */
  routedMethod(downstream: Downstream): string;
  /** The client's deadline for the whole exchange, in milliseconds; null if absent. */
  timeoutMs(fields: Fields): number | null | Rejection;
  /** The error for an upstream that fails. */
  upstreamFailed(failure: UpstreamFailure): GatewayError;
  /** The response to an error of the gateway. `anonymous`: at one of its own endpoints. */
  render(error: GatewayError, anonymous: boolean): RenderedResponse;
  /** The trailers that end a response that cannot go on; null: it can only be broken off. */
  trailersFor(error: GatewayError): Fields | null;
  /** The upstream's trailers that go to the client. */
  keepTrailers(trailers: Fields): Fields;
  /** Notes on the response what the upstream's last fields say about the outcome. */
  noteEnd(response: Response, fields: Fields): void;
}
