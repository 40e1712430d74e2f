import type { Fields, GatewayError, Protocol } from '../../core/index.ts';
import type { Rejection } from '../../http1/index.ts';
import type { RenderedResponse } from '../responses/index.ts';
import type { Downstream } from './downstream.ts';
import type { Response } from './response.ts';

/**
 * What differs between requests of HTTP and calls of a protocol that HTTP carries. Chosen once, when a request arrives; no gate
 * and no terminal asks which it is.
 */
export interface Dialect {
  /** What the record calls it; null: by what its connection speaks. */
  readonly protocol: Protocol | null;
  /** What stands for the method where routes are looked up. */
  routedMethod(downstream: Downstream): string;
  /** How long its client gives the whole exchange: milliseconds; null: any time. */
  timeoutMs(fields: Fields): number | null | Rejection;
  /** The response that tells of an error of the gateway. `anonymous`: of one of its own endpoints. */
  render(error: GatewayError, anonymous: boolean): RenderedResponse;
  /** What ends a response that has begun and cannot go on; null: it can only be broken off. */
  trailersFor(error: GatewayError): Fields | null;
  /** What of an upstream's trailers goes to the client. */
  keepTrailers(trailers: Fields): Fields;
  /** Notes on the response what the last fields of an upstream's say about how the exchange went. */
  noteEnd(response: Response, fields: Fields): void;
}
