import { type Cap, type Fields, GatewayError, type PoolName, RpcCode } from '../../core/index.ts';

const RETRY_SOON: Fields = ['Retry-After', '1'];

/** The gateway has reached this cap. */
export function overloaded(cap: Cap): GatewayError {
  return new GatewayError({
    status: 503,
    rpcCode: RpcCode.unavailable,
    side: 'gateway',
    message: 'Too many requests are in flight. Try again shortly.',
    fields: RETRY_SOON,
    cap,
  });
}

/** The process is too far behind to serve it in time. */
export function fallenBehind(): GatewayError {
  return new GatewayError({
    status: 503,
    rpcCode: RpcCode.unavailable,
    side: 'gateway',
    message: 'The gateway is overloaded. Try again shortly.',
    fields: RETRY_SOON,
    cap: 'event_loop_delay',
  });
}

/** The upstream is at its cap for this kind of request. */
export function poolFull(pool: PoolName): GatewayError {
  return new GatewayError({
    status: 503,
    rpcCode: RpcCode.unavailable,
    side: 'gateway',
    message: `Too many ${IN_FLIGHT[pool]}. Try again shortly.`,
    fields: RETRY_SOON,
    cap: `max_${pool}`,
  });
}

/** The caller has used up its share of an upstream; others still have room. */
export function shareTaken(pool: PoolName): GatewayError {
  return new GatewayError({
    status: 503,
    rpcCode: RpcCode.unavailable,
    side: 'client',
    message: `Too many of your ${IN_FLIGHT[pool]} to this service. Try again shortly.`,
    fields: RETRY_SOON,
    cap: `max_${pool}_per_caller`,
  });
}

/** What is in flight, for messages. */
const IN_FLIGHT: Readonly<Record<PoolName, string>> = {
  requests: 'requests are in flight',
  websockets: 'WebSockets are open',
  grpc_calls: 'gRPC calls are in flight',
};
