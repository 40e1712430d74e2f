export * from './web-call.ts';
