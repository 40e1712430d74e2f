import type { BodySink, BodySource, ByteStream, Fields, Release } from '../../core/index.ts';
import { errorText, firstValue, NO_NAMES, RpcCode, rpcCodeName } from '../../core/index.ts';
import type { OutgoingRequest } from '../../wire/http1/index.ts';
import { type CallSink, isOwnLack, type UpstreamFailure } from '../transport.ts';

/**
 * The target of a check: a path by GET, or a gRPC service by `grpc.health.v1.Health/Check`; an empty name means the whole server.
 */
export type CheckTarget =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'service'; readonly service: string };

export interface CheckResult {
  /** Why the endpoint is not healthy; `null` if it is. */
  readonly why: string | null;
  /** Whether a connection was made. */
  readonly reached: boolean;
}

/** Makes the request of a check, without a token or anything from a client. */
export function checkRequest(target: CheckTarget, host: string): OutgoingRequest {
  const fields = ['Host', host, 'User-Agent', 'weir'];
  const common = {
    neverIndexed: NO_NAMES,
    takesTrailers: false,
    upgrade: 'none' as const,
    statesZero: false,
    // The check has its own time limit.
    firstByteTimeoutMs: null,
    idleTimeoutMs: null,
  };
  if (target.kind === 'path') {
    const { path } = target;
    return { ...common, method: 'GET', target: path, fields, bodyLength: 0, body: null };
  }
  const message = requestMessage(target.service);
  return {
    ...common,
    method: 'POST',
    target: '/grpc.health.v1.Health/Check',
    takesTrailers: true,
    fields: [...fields, 'Content-Type', 'application/grpc'],
    bodyLength: message.length,
    body: new ReadyBody(message),
  };
}

/** Takes the result of a check; `null` for none, because the gateway had no descriptor for the connection. */
type CheckDone = (result: CheckResult | null) => void;

/** Makes a sink that calls back once, when the response shows the state of the endpoint. */
export function checkSink({ kind }: CheckTarget, done: CheckDone): CallSink {
  return new CheckSink(kind === 'path' ? flawOfPath : flawOfService, done);
}

/** A body that is completely available. */
class ReadyBody implements BodySource {
  started = false;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  start(sink: BodySink): void {
    this.started = true;
    sink.chunk(this.#bytes);
    sink.end();
  }

  pause(): void {}

  resume(): void {}
}

interface CheckAnswer {
  readonly status: number;
  /** The value of `grpc-status`; undefined if there was none. */
  readonly grpcStatus: string | undefined;
  readonly body: Buffer;
}

/** Longest part of a body that is read: one field, with the message prefix. */
const MAX_BYTES = 64;

/** Reads a response to its end, so that its connection can carry another request. */
class CheckSink implements CallSink {
  readonly #flawOf: (answer: CheckAnswer) => string | null;
  readonly #done: CheckDone;
  #status = 0;
  #fields: Fields = [];
  #body = Buffer.alloc(0);

  constructor(flawOf: (answer: CheckAnswer) => string | null, done: CheckDone) {
    this.#flawOf = flawOf;
    this.#done = done;
  }

  neverIndex(): void {}

  info(): void {}

  whole(status: number, reason: string, fields: Fields, body: string): void {
    this.head(status, reason, fields);
    this.data(Buffer.from(body, 'latin1'), null);
    this.end([]);
  }

  head(status: number, _reason: string, fields: Fields): void {
    this.#status = status;
    this.#fields = fields;
  }

  data(chunk: Buffer, release: Release | null): boolean {
    const room = MAX_BYTES - this.#body.length;
    if (room > 0) this.#body = Buffer.concat([this.#body, chunk.subarray(0, room)]);
    release?.();
    return true;
  }

  end(trailers: Fields): void {
    const grpcStatus = firstValue(trailers, 'grpc-status') ?? firstValue(this.#fields, 'grpc-status');
    const answer = { status: this.#status, grpcStatus, body: this.#body };
    this.#done({ why: this.#flawOf(answer), reached: true });
  }

  switched(_fields: Fields, stream: ByteStream): void {
    stream.destroy();
    this.#done({ why: 'it answered 101', reached: true });
  }

  fail({ kind, cause }: UpstreamFailure): void {
    const reached = kind !== 'connect';
    this.#done(!reached && isOwnLack(cause) ? null : { why: errorText(cause), reached });
  }
}

/** Returns what is wrong with the answer to a path check; `null` if the endpoint is healthy. */
function flawOfPath({ status }: CheckAnswer): string | null {
  return status >= 200 && status <= 299 ? null : `it answered ${status}`;
}

/** The value of SERVING in `grpc.health.v1.HealthCheckResponse`. */
const SERVING = 1;
const STATUS_NAMES = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

/** Returns what is wrong with the answer to a gRPC check; `null` if the service is healthy. */
function flawOfService({ status, grpcStatus, body }: CheckAnswer): string | null {
  if (status !== 200) return `it answered ${status}`;
  if (grpcStatus === undefined) return 'it answered without a gRPC status';
  if (grpcStatus !== String(RpcCode.ok))
    return `it answered ${rpcCodeName(Number(grpcStatus) as RpcCode) || 'with an unknown gRPC status'}`;
  const health = servingStatus(body);
  return health === SERVING ? null : `it is ${STATUS_NAMES[health] ?? 'in a state without a name'}`;
}

/** Bytes before each gRPC message: a flag and the length. */
const PREFIX_BYTES = 5;
/** Protocol buffers, field 1: as a varint, and as bytes with a length. */
const VARINT_1 = 0x08;
const BYTES_1 = 0x0a;

/** Writes a `HealthCheckRequest` with the gRPC message prefix. */
function requestMessage(service: string): Buffer {
  const name = Buffer.from(service);
  const message = name.length === 0 ? name : Buffer.concat([Buffer.from([BYTES_1, name.length]), name]);
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Reads the status from a `HealthCheckResponse`; 0 if there is none. */
function servingStatus(body: Buffer): number {
  return body[PREFIX_BYTES] === VARINT_1 ? (body[PREFIX_BYTES + 1] ?? 0) : 0;
}
