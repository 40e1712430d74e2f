export { EffectiveConfig } from './effective.ts';
export {
  apiKeysJsonSchema,
  gatewayJsonSchema,
  type JsonSchema,
  limitsJsonSchema,
  testJsonSchema,
} from './json-schema.ts';
export * from './limits-schema.ts';
export * from './test-schema.ts';
export { validate } from './validate.ts';
