import type { Attributes } from '@opentelemetry/api';
import type { ExchangeRecord } from '../../core/index.ts';

/** Where an upstream is. */
export interface SpanPeer {
  readonly host: string;
  readonly port: number;
}

// The attributes of HTTP spans, by their stable names (https://opentelemetry.io/docs/specs/semconv/http/http-spans/). What may
// hold a secret or names a person is left out: path, query, address and header fields.

/** Methods of RFC 9110 and RFC 5789. Anything else is a value that a client chose. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH']);

export function serverAttributes(record: ExchangeRecord): Attributes {
  const { method, route, status, protocol, error } = record;
  return {
    'http.request.method': methodOf(method),
    ...(route === null ? {} : { 'http.route': pathOf(route) }),
    ...(status === 0 ? {} : { 'http.response.status_code': status }),
    'network.protocol.name': 'http',
    'network.protocol.version': protocol === 'h2' || protocol === 'grpc' ? '2' : '1.1',
    ...(status >= 500 || status === 0 ? { 'error.type': error?.side ?? errorType(status) } : {}),
  };
}

/** The attributes of the span that covers the upstream's part. */
export function clientAttributes(record: ExchangeRecord, peer: SpanPeer | undefined): Attributes {
  const { method, status, upstreamMs, retried } = record;
  const answered = upstreamMs !== null;
  return {
    'http.request.method': methodOf(method),
    ...(peer === undefined ? {} : { 'server.address': peer.host, 'server.port': peer.port }),
    ...(answered ? { 'http.response.status_code': status } : {}),
    ...(isFailedUpstream(record) ? { 'error.type': errorType(answered ? status : 0) } : {}),
    ...(retried ? { 'http.request.resend_count': 1 } : {}),
  };
}

/** Whether the upstream's part went wrong: for a client, from 400 on. */
export function isFailedUpstream({ status, upstreamMs }: ExchangeRecord): boolean {
  return upstreamMs === null || status >= 400;
}

/** `GET /v1/things/{id}`, or the method alone. */
export function spanName({ method, route }: ExchangeRecord): string {
  const known = METHODS.has(method) ? method : 'HTTP';
  return route === null ? known : `${known} ${pathOf(route)}`;
}

function methodOf(method: string): string {
  return METHODS.has(method) ? method : '_OTHER';
}

/** The template of a route such as `GET,HEAD /v1/things/{id}`. */
function pathOf(route: string): string {
  return route.slice(route.lastIndexOf(' ') + 1);
}

function errorType(status: number): string {
  return status === 0 ? '_OTHER' : String(status);
}
