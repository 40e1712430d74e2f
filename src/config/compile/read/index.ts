export { authenticationWithoutSecrets } from './compile-client-authentication.ts';
export { limitsIn, type ReadLimits, readLimits, readLimitsAlone } from './read-limits.ts';
export type { ListenerTls } from './read-listener-tls.ts';
export type { ProviderConfigOptions } from './read-provider.ts';
export { readPseudonymKey } from './read-pseudonym-key.ts';
export { readSecrets, withoutSecrets } from './read-secrets.ts';
export type { TlsFiles } from './secret-files.ts';
