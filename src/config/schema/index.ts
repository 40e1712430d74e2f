export { effectiveValue } from './effective.ts';
export {
  type AccessTokensConfig,
  AUDIENCE,
  accessTokensSchema,
  tokenRules,
} from './gateway/access-tokens-schema.ts';
export { type CorsConfig, RULES_BY_DEFAULT } from './gateway/forwarding-schema.ts';
export { type GatewayConfig, gatewaySchema, gatewaySecrecy } from './gateway/gateway-schema.ts';
export {
  type IdentityProviderConfig,
  identityProviderSchema,
  type NoticesConfig,
  noticeKeys,
  providerEntrySchema,
  type SignInConfig,
  signInPaths,
} from './gateway/identity-schema.ts';
export { listenerTlsSchema, listenSchema } from './gateway/listen-schema.ts';
export { logSchema } from './gateway/observing-schema.ts';
export { type RouteConfig, routeKeys } from './gateway/routes-schema.ts';
export { type RedisStoreConfig, redisStoreSchema } from './gateway/store-schema.ts';
export { PROTOCOL_KEYS, type UpstreamConfig } from './gateway/upstreams-schema.ts';
export { gatewayJsonSchema, type JsonSchema, limitsJsonSchema, testJsonSchema } from './json-schema.ts';
export {
  type BucketConfig,
  bucketKeys,
  type LimitsConfig,
  limitsSchema,
  limitsSecrecy,
  type OffenceConfig,
} from './limits-schema.ts';
export {
  type ExpectedOutcome,
  type TestConfig,
  type TestedRequest,
  testSchema,
  testSecrecy,
} from './test-schema.ts';
export { validate } from './validate.ts';
