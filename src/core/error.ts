import type { RpcCode } from './rpc-code.ts';

/** Whose side failed: what a log reader and an alert want to know first. */
export type ErrorSide = 'client' | 'gateway' | 'upstream' | 'provider' | 'store';

/** One entry of an error object's `details`: a `google.protobuf.Any` as JSON. */
export interface ErrorDetail {
  /** `type.googleapis.com/` and the message's full name. */
  readonly '@type': string;
  readonly [member: string]: unknown;
}

export interface GatewayErrorOptions {
  /** HTTP status of the answer, 400 to 599. */
  readonly status: number;
  readonly rpcCode: RpcCode;
  readonly side: ErrorSide;
  /** For the client, in ASCII: says what to do next, and never holds a secret or what the client sent. */
  readonly message: string;
  /** Structured details of the error object; like the message, nothing secret and nothing the client sent. Default none. */
  readonly details?: readonly ErrorDetail[];
  /** Further header fields of the answer (name, value, ...): `Retry-After`, `Allow`. Default none. */
  readonly fields?: readonly string[];
  /** True when sending the same request again cannot do harm and may help. Default false. */
  readonly retrySafe?: boolean;
  /** The connection is closed after the answer: what follows on it cannot be trusted. Default false. */
  readonly close?: boolean;
  /** What happened inside, for the log only. */
  readonly cause?: unknown;
}

/** A request that the gateway answers with an error of its own. `gateway/answers.ts` turns it into bytes. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly status: number;
  readonly rpcCode: RpcCode;
  readonly side: ErrorSide;
  readonly details: readonly ErrorDetail[];
  readonly fields: readonly string[];
  readonly retrySafe: boolean;
  readonly close: boolean;

  constructor(options: GatewayErrorOptions) {
    // A refusal is an everyday event: capturing a stack for each would make floods expensive.
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(options.message, { cause: options.cause });
    Error.stackTraceLimit = limit;
    this.status = options.status;
    this.rpcCode = options.rpcCode;
    this.side = options.side;
    this.details = options.details ?? [];
    this.fields = options.fields ?? [];
    this.retrySafe = options.retrySafe ?? false;
    this.close = options.close ?? false;
  }
}
