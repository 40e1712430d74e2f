export {
  type CertificateFacts,
  type CertificateOptions,
  type ClientCertificateOptions,
  createTlsServer,
  hasBadCertificate,
  pairError,
  readCertificate,
  ServerNames,
  TICKET_KEY_BYTES,
  type TlsOptions,
} from './tls-server.ts';
