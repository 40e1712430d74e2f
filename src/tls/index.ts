export { type CertificateFacts, pairError, readCertificate } from './certificate.ts';
export {
  type CertificateOptions,
  type ClientCertificateOptions,
  createTlsServer,
  hasBadCertificate,
  ServerNames,
  type TlsOptions,
} from './tls-server.ts';
