export { AdminApi, type ApiSources, sendError } from './admin-api.ts';
