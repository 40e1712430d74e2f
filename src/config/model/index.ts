export type { CallerClass, ClassName } from '../../core/index.ts';
export type { UpstreamModel } from '../policies/index.ts';
export type { HostPort } from '../values/index.ts';
export * from './every-limit.ts';
export * from './identity-model.ts';
export * from './limit-claims.ts';
export * from './limits-model.ts';
export * from './restricted-key.ts';
export * from './route-model.ts';
