export { type ApiSources, answerApi, sendError } from './admin-api.ts';
export { readBytes, send } from './operation.ts';
export { networksOf } from './refused-api.ts';
export { asEndpointStatus, type EndpointStatus } from './upstreams-api.ts';
