export { limitsIn, type ReadLimits, readLimits, readLimitsAlone } from './read-limits.ts';
export { authenticationWithoutSecrets, type ProviderConfigOptions } from './read-provider.ts';
export type { ListenerTls } from './read-tls.ts';
export type { TlsFiles } from './secret-files.ts';
export { readPseudonymKey, readSecrets, withoutSecrets } from './secrets.ts';
