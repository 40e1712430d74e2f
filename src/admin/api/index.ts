export { AdminApi, type ApiSources } from './admin-api.ts';
