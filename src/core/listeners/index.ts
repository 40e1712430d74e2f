export * from './access-fields.ts';
export * from './auth-listener.ts';
export * from './events.ts';
export * from './limit-listener.ts';
export { silent } from './silent.ts';
export * from './upstream-listener.ts';
export * from './warning-listener.ts';
