export { type CertificateFacts, pairError, readCertificate } from './certificate.ts';
export { ServerNames } from './server-names.ts';
export type { CertificateOptions, ClientCertificateOptions, TlsOptions } from './tls-options.ts';
export { createTlsServer, hasBadCertificate } from './tls-server.ts';
