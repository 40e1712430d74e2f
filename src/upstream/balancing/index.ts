export type { Balance, CookieBalance } from './balancer.ts';
export type { Endpoint } from './endpoint.ts';
export { type EndpointsState, EndpointTransport, type Spreading } from './endpoint-transport.ts';
