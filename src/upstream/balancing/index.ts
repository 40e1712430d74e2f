export type { Balance } from './balancer.ts';
export type { Endpoint } from './endpoint.ts';
export type { OutReason } from './endpoint-health.ts';
export { type EndpointListener, EndpointTransport } from './endpoint-transport.ts';
