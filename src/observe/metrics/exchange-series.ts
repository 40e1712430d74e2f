import { RpcCode, rpcCodeName } from '../../core/index.ts';
import type { LabelModel } from './label-model.ts';
import { GATEWAY_CAPS, UPSTREAM_CAPS } from './label-values.ts';

// The series of exchanges that a configuration makes possible, as rows of label values.

type Rows = readonly (readonly string[])[];

/** Of `weir_requests_total`: how requests of each route commonly end. */
export function requestSeries({ routes }: LabelModel): Rows {
  return routes.flatMap(({ route, protocols, endings }) =>
    endings.flatMap(([status, outcome]) => protocols.map(protocol => [route, status, outcome, protocol])),
  );
}

const CODES = [...Object.values(RpcCode).map(rpcCodeName), 'none'];

/** Of `weir_grpc_calls_total`. */
export function callSeries({ routes }: LabelModel): Rows {
  return routes
    .filter(({ protocols }) => protocols.includes('grpc'))
    .flatMap(({ route }) => CODES.map(code => [route, code]));
}

/** Of `weir_request_duration_seconds`: with routes, each is there with its upstream and with the gateway's own responses. */
export function durationSeries({ routes, upstreams, routeDurations }: LabelModel): Rows {
  if (!routeDurations) return ['none', ...upstreams].map(upstream => [upstream]);
  return routes.flatMap(({ route, upstream }) => [...new Set(['none', upstream])].map(each => [each, route]));
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
