import type { LimitedBy, RouteModel } from '../../config/index.ts';
import { GRPC_METHOD as GRPC_CALL, type Routes } from '../../config/routing/index.ts';
import type { Fields, GatewayError, Protocol } from '../../core/index.ts';
import { allValues, firstValue, RpcCode } from '../../core/index.ts';
import type { UpstreamFailure } from '../../upstream/index.ts';
import { isGrpcWeb, takesText, WebCall } from '../../wire/grpc-web/index.ts';
import { keepCallTrailers, keepTrailerFields, parseTarget } from '../../wire/http/index.ts';
import type { Rejection } from '../../wire/http1/index.ts';
import * as responses from '../responses/index.ts';
import type { Downstream } from './downstream.ts';

/**
 * What differs between plain HTTP requests and calls of a protocol on top of HTTP. Chosen once per request, so that gates and
 * terminals need no case distinctions.
 */
export interface Dialect {
  /** The protocol to record; `null` for that of the connection. */
  readonly protocol: Protocol | null;
  /**
   * True if clients must send and receive bytes in time. If false, a stream may be silent for as long as its connection lives.
   */
  readonly isPaced: boolean;
  /** The method used in the route lookup. */
  routedMethod(downstream: Downstream): string;
  /** The client's deadline for the whole exchange, in milliseconds; `null` if it gives none. */
  timeoutMs(fields: Fields): number | null | Rejection;
  upstreamFailed(failure: UpstreamFailure): GatewayError;
  /** The response to an error of the gateway. `anonymous`: at one of the gateway's own endpoints. */
  render(error: GatewayError, anonymous: boolean): responses.RenderedResponse;
  /** The status of a call that ends with this error; `null` if the request is not a call. */
  codeOf(error: GatewayError): RpcCode | null;
  /** The trailers to end an incomplete response with; `null` if it can only be aborted. */
  trailersFor(error: GatewayError): Fields | null;
  /** The upstream's trailers that go to the client. */
  keepTrailers(trailers: Fields): Fields;
  /** A translation of the exchange for an upstream of another protocol; `null` if none is needed. */
  translation(fields: Fields): WebCall | null;
  /** Records what the upstream's last fields say about the outcome. */
  noteEnd(response: CallEnd, fields: Fields): void;
}

/** How a call ended, as its response says. */
interface CallEnd {
  grpcStatus: RpcCode | null;
  limitedBy: LimitedBy | null;
}

/** The parts of a request that decide its dialect. */
type Asked = Pick<Downstream, 'protocol' | 'method' | 'target' | 'fields' | 'onlyCalls'>;

/**
 * Returns the dialect of a request. gRPC needs HTTP/2, and a request declared as gRPC matches only gRPC routes. One declared as
 * gRPC-Web matches those that allow it; behind any other route, the service speaks gRPC-Web itself.
 */
export function dialectOf(downstream: Asked, host: string | null, routes: Routes<RouteModel>): Dialect {
  const { protocol, method, fields, onlyCalls } = downstream;
  const contentType = method === 'POST' ? firstValue(fields, 'content-type') : undefined;
  if (contentType === undefined) return HTTP_DIALECT;
  if (protocol !== 'http1' && isGrpc(contentType)) return GRPC_DIALECT;
  if (onlyCalls || !isGrpcWeb(contentType) || !takesGrpcWeb(downstream, host, routes)) return HTTP_DIALECT;
  return takesText(fields) ? GRPC_WEB_TEXT_DIALECT : GRPC_WEB_DIALECT;
}

export function isGrpc(contentType: string): boolean {
  return /^application\/grpc(?:[+;]|$)/i.test(contentType);
}

function takesGrpcWeb({ target, method }: Asked, host: string | null, routes: Routes<RouteModel>): boolean {
  const found = host === null ? null : parseTarget(target, host, method);
  if (host === null || found === null || 'rejected' in found) return false;
  const route = routes.find(GRPC_CALL, host, found.path)?.value;
  return route?.kind === 'forward' && route.grpcWeb;
}

/** Plain HTTP requests. */
export const HTTP_DIALECT: Dialect = {
  protocol: null,
  isPaced: true,
  routedMethod: ({ method }) => method,
  timeoutMs: () => null,
  upstreamFailed: ({ cause }) => responses.errors.upstreamFailed(cause),
  render: responses.renderError,
  codeOf: () => null,
  trailersFor: () => null,
  keepTrailers: keepTrailerFields,
  translation: () => null,
  noteEnd: () => {},
};

/** gRPC calls (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). */
export const GRPC_DIALECT: Dialect = {
  protocol: 'grpc',
  isPaced: false,
  routedMethod: () => GRPC_CALL,
  timeoutMs: readGrpcTimeout,
  upstreamFailed: ({ resetCode, cause }) =>
    resetCode === null
      ? responses.errors.upstreamFailed(cause)
      : responses.errors.callReset(resetCode, cause),
  render: responses.renderGrpcError,
  codeOf: responses.grpcCodeOf,
  trailersFor: responses.grpcStatusFields,
  keepTrailers: keepCallTrailers,
  translation: () => null,
  noteEnd: (response, fields) => {
    const code = responses.grpcStatusIn(fields);
    if (code === null) return;
    response.grpcStatus = code;
    if (code === RpcCode.resourceExhausted) response.limitedBy = responses.meantScope(fields);
  },
};

/**
 * gRPC calls in a form that browsers can send. Clients cannot stream: the request is one message, subject to the usual timeouts.
 */
const grpcWebDialect = (isText: boolean): Dialect => ({
  ...GRPC_DIALECT,
  protocol: 'grpc_web',
  isPaced: true,
  render: error => responses.renderGrpcWebError(error, isText),
  translation: fields => new WebCall(fields),
});
export const GRPC_WEB_DIALECT = grpcWebDialect(false);
export const GRPC_WEB_TEXT_DIALECT = grpcWebDialect(true);

/** Milliseconds in each unit of `grpc-timeout`. */
const UNITS_MS: ReadonlyMap<string, number> = new Map([
  ['H', 3_600_000],
  ['M', 60_000],
  ['S', 1_000],
  ['m', 1],
  ['u', 1e-3],
  ['n', 1e-6],
]);

/** The limit of Node's timers (24 days). A later deadline needs no timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The deadline of a call: at most 8 digits and a unit. Rejects duplicates, since the upstream might use the other one. */
export function readGrpcTimeout(fields: Fields): number | null | Rejection {
  const [text, ...others] = allValues(fields, 'grpc-timeout');
  if (text === undefined) return null;
  if (others.length > 0) return { rejected: 'the field grpc-timeout came twice' };
  const unitMs = UNITS_MS.get(text.slice(-1));
  if (unitMs === undefined || !/^\d{1,8}.$/.test(text))
    return { rejected: 'the field grpc-timeout is not a number of up to 8 digits with a unit' };
  const ms = Number(text.slice(0, -1)) * unitMs;
  return ms > MAX_TIMER_MS ? null : ms;
}
