export {
  type CertificateFacts,
  type CertificateOptions,
  type ClientCertificateOptions,
  createTlsServer,
  hasBadCertificate,
  pairError,
  readCertificate,
  ServerNames,
  type TlsOptions,
} from './tls-server.ts';
