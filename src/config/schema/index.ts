export type { CorsConfig } from './cors-schema.ts';
export { RULES_BY_DEFAULT } from './forwarding-schema.ts';
export {
  type GatewayConfig,
  gatewaySchema,
  gatewaySecrecy,
  type RouteConfig,
  routeKeys,
  type UpstreamConfig,
} from './gateway-schema.ts';
export {
  type AccessTokensConfig,
  type IdentityProviderConfig,
  identityProviderSchema,
} from './identity-schema.ts';
export { gatewayJsonSchema, type JsonSchema, limitsJsonSchema } from './json-schema.ts';
export { parseLimitRoute } from './limit-route.ts';
export {
  type BucketConfig,
  bucketKeys,
  type LimitsConfig,
  limitsSchema,
  limitsSecrecy,
  type OffenceConfig,
} from './limits-schema.ts';
export { listenSchema } from './listen-schema.ts';
export { network } from './scalars.ts';
export { secretInFile, secretPaths } from './secrecy.ts';
export { formatSize } from './size.ts';
export { type RedisStoreConfig, redisStoreSchema } from './store-schema.ts';
export { validate } from './validate.ts';
