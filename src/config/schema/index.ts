export { effectiveValue } from './effective.ts';
export {
  type AccessTokensConfig,
  AUDIENCE,
  accessTokensSchema,
  tokenRules,
} from './gateway/access-tokens-schema.ts';
export type { CorsConfig } from './gateway/cors-schema.ts';
export { RULES_BY_DEFAULT } from './gateway/forwarding-schema.ts';
export { type GatewayConfig, gatewaySchema, gatewaySecrecy } from './gateway/gateway-schema.ts';
export { type IdentityProviderConfig, identityProviderSchema } from './gateway/identity-schema.ts';
export { listenSchema } from './gateway/listen-schema.ts';
export { logSchema } from './gateway/log-schema.ts';
export { type NoticesConfig, noticeKeys } from './gateway/notices-schema.ts';
export { providerEntrySchema } from './gateway/providers-schema.ts';
export { type RouteConfig, routeKeys } from './gateway/routes-schema.ts';
export { type SignInConfig, signInPaths } from './gateway/sign-in-schema.ts';
export { type RedisStoreConfig, redisStoreSchema } from './gateway/store-schema.ts';
export { listenerTlsSchema } from './gateway/tls-schema.ts';
export type { UpstreamConfig } from './gateway/upstreams-schema.ts';
export { gatewayJsonSchema, type JsonSchema, limitsJsonSchema, testJsonSchema } from './json-schema.ts';
export { parseLimitRoute } from './limit-route.ts';
export {
  type BucketConfig,
  bucketKeys,
  type LimitsConfig,
  limitsSchema,
  limitsSecrecy,
  type OffenceConfig,
} from './limits-schema.ts';
export { formatSize, network } from './scalars/index.ts';
export { EACH, secretInFile, secretPaths } from './secrecy.ts';
export { type Outcome, type TestConfig, type TestedRequest, testSchema, testSecrecy } from './test-schema.ts';
export { validate } from './validate.ts';
