export * from './access-fields.ts';
export * from './auth-listener.ts';
export * from './events.ts';
export * from './limit-listener.ts';
export * from './upstream-listener.ts';
