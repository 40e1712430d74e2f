import { RpcCode, rpcCodeName } from '../../core/index.ts';
import type { LabelModel } from './label-model.ts';
import { GATEWAY_CAPS, UPSTREAM_CAPS } from './label-values.ts';
import type { Rows } from './prepare-series.ts';

// The series of exchanges that a configuration makes possible, as rows of label values.

/** Of `weir_requests_total`: how requests of each route commonly end. */
export function* requestSeries({ routes }: LabelModel): Rows {
  for (const { route, protocols, endings } of routes)
    for (const [status, outcome] of endings)
      for (const protocol of protocols) yield [route, status, outcome, protocol];
}

const CODES = [...Object.values(RpcCode).map(rpcCodeName), 'none'];

/** Of `weir_grpc_calls_total`. */
export function* callSeries({ routes }: LabelModel): Rows {
  for (const { route, protocols } of routes)
    if (protocols.includes('grpc')) for (const code of CODES) yield [route, code];
}

/** Of `weir_request_duration_seconds`: with routes, each is there with its upstream and with the gateway's own responses. */
export function* durationSeries({ routes, upstreams, routeDurations }: LabelModel): Rows {
  if (!routeDurations) for (const upstream of ['none', ...upstreams]) yield [upstream];
  else
    for (const { route, upstream } of routes)
      for (const each of new Set(['none', upstream])) yield [each, route];
}

/** Of `weir_errors_total`: only a request that was meant for an upstream has one. */
export function errorSeries({ upstreams }: LabelModel): Rows {
  return [
    ...['client', 'gateway', 'provider', 'store'].map(side => [side, 'none']),
    ...upstreams.flatMap(upstream => ['client', 'gateway', 'upstream'].map(side => [side, upstream])),
  ];
}

/** Of `weir_caps_met_total`. */
export function capSeries({ upstreams }: LabelModel): Rows {
  return [
    ...GATEWAY_CAPS.map(cap => [cap, 'none']),
    ...upstreams.flatMap(upstream => UPSTREAM_CAPS.map(cap => [cap, upstream])),
  ];
}
