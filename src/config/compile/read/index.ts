export { readAdminToken } from './read-admin-token.ts';
export { limitsIn, type ReadLimits, readLimits, readLimitsAlone } from './read-limits.ts';
export { type ListenerTls, readListenerTls } from './read-listener-tls.ts';
export { type ProviderConfigOptions, providerWithoutSecrets, readProviders } from './read-provider.ts';
export { readPseudonymKey } from './read-pseudonym-key.ts';
export { readStore } from './read-store.ts';
export { readUpstreamTls } from './read-upstream-tls.ts';
export type { TlsFiles } from './secret-files.ts';
