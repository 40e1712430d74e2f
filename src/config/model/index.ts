export type { CallerClass } from '../../core/index.ts';
export type { PoolModel, UpstreamModel } from '../upstream-model.ts';
export { formatHostPort, type HostPort } from '../values/index.ts';
export * from './identity-model.ts';
export * from './limits-model.ts';
export * from './route-model.ts';
export * from './snapshot.ts';
