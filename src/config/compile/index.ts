export { compileGateway } from './compile.ts';
export { QUOTA_KEYS } from './compile-limits.ts';
export { readLimits } from './read-limits.ts';
export { readListenerTls } from './read-listener-tls.ts';
export { readProvider } from './read-provider.ts';
export { readPseudonymKey } from './read-pseudonym-key.ts';
export { readStore } from './read-store.ts';
export { SIGN_IN_ROUTES } from './sign-in-routes.ts';
