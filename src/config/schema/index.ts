export { EffectiveConfig } from './effective.ts';
export * from './json-schema.ts';
export * from './test-schema.ts';
export { validate } from './validate.ts';
