import { firstValue } from '../../core/index.ts';
import type { Dialect } from './dialect.ts';
import type { Downstream } from './downstream.ts';
import { GRPC } from './grpc-dialect.ts';
import { HTTP } from './http-dialect.ts';

/** What a request speaks. gRPC needs HTTP/2; what says that it is gRPC can only lead to routes of gRPC. */
export function dialectOf(downstream: Pick<Downstream, 'protocol' | 'method' | 'fields'>): Dialect {
  return downstream.protocol !== 'http1' && isGrpcCall(downstream) ? GRPC : HTTP;
}

/** Whether a request of HTTP/2 is a call of gRPC. `application/grpc-web` is another protocol. */
function isGrpcCall({ method, fields }: Pick<Downstream, 'method' | 'fields'>): boolean {
  return method === 'POST' && /^application\/grpc(?:[+;]|$)/i.test(firstValue(fields, 'content-type') ?? '');
}
