export * from './counting/index.ts';
export * from './restricting/index.ts';
