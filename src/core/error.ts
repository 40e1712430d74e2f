import type { RpcCode } from './rpc-code.ts';

/** The side that failed: what a log reader or an alert asks first. */
export type ErrorSide = 'client' | 'gateway' | 'upstream' | 'provider' | 'store';

/** A kind of exchange with its own cap at each upstream. */
export type PoolName = 'requests' | 'websockets' | 'grpc_calls';

/** A limit on what is in flight at once, by its key in gateway.yaml. */
export type Cap =
  | 'connections'
  | 'connections_per_address'
  | 'requests'
  | 'requests_per_address'
  | 'event_loop_delay'
  | `max_${PoolName}`
  | `max_${PoolName}_per_caller`
  | 'max_in_flight';

/** One entry of an error object's `details`: a `google.protobuf.Any` as JSON. */
export interface ErrorDetail {
  /** `type.googleapis.com/` and the message's full name. */
  readonly '@type': string;
  readonly [member: string]: unknown;
}

export interface GatewayErrorOptions {
  /** HTTP status of the response, 400 to 599. */
  readonly status: number;
  readonly rpcCode: RpcCode;
  readonly side: ErrorSide;
  /** For the client, in ASCII: says what to do next. Never contains a secret or anything that the client sent. */
  readonly message: string;
  /** Structured details of the error object, under the same rules as the message. Default none. */
  readonly details?: readonly ErrorDetail[];
  /** Further header fields of the response (name, value, ...): `Retry-After`, `Allow`. Default none. */
  readonly fields?: readonly string[];
  /** The connection is closed after the response: what follows on it cannot be trusted. Default false. */
  readonly close?: boolean;
  /** The cap that was reached, for log and metrics. Default none. */
  readonly cap?: Cap;
  /** What happened inside, for the log only. */
  readonly cause?: unknown;
}

/**
 * An error that the gateway answers itself. `gateway/responses/` turns it into bytes.
 *
 * A plain value rather than an `Error`: refusals are everyday events that need no trace, and constructing an `Error` costs
 * 0.27 microseconds even without a stack.
 */
export class GatewayError {
  readonly message: string;
  readonly cause: unknown;
  readonly status: number;
  readonly rpcCode: RpcCode;
  readonly side: ErrorSide;
  readonly details: readonly ErrorDetail[];
  readonly fields: readonly string[];
  readonly close: boolean;
  readonly cap: Cap | null;

  constructor(options: GatewayErrorOptions) {
    this.message = options.message;
    this.cause = options.cause;
    this.status = options.status;
    this.rpcCode = options.rpcCode;
    this.side = options.side;
    this.details = options.details ?? [];
    this.fields = options.fields ?? [];
    this.close = options.close ?? false;
    this.cap = options.cap ?? null;
  }
}
