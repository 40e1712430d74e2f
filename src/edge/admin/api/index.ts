export { AdminApi, type ApiSources, sendError } from './admin-api.ts';
export { send } from './operation.ts';
export { networksOf, type RefusedNetwork } from './refused-api.ts';
export { asEndpointStatus, type EndpointStatus } from './upstreams-api.ts';
