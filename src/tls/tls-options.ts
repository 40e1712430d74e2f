/** TLS towards clients, as one listener speaks it. */
export interface TlsOptions {
  /** At least one. The first is for clients that ask for no name, or for one that no certificate holds. */
  readonly certificates: readonly CertificateOptions[];
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
  /** Protocols that clients may choose from by ALPN, the preferred first. */
  readonly protocols: readonly string[];
  /** Null: clients are not asked for a certificate. */
  readonly clientCertificates: ClientCertificateOptions | null;
}

/** A certificate of the gateway. */
export interface CertificateOptions {
  /** The file as the operator wrote it: its name in metrics and on the status page. */
  readonly name: string;
  /** PEM: the certificate, then those between it and its authority. */
  readonly certificate: string;
  /** PEM, unencrypted. */
  readonly key: string;
  /** DNS names that it holds, `a.test` or `*.a.test`, in lower case. */
  readonly serverNames: readonly string[];
  /** Milliseconds since the epoch. */
  readonly notAfterMs: number;
}

export interface ClientCertificateOptions {
  /** PEM of the authorities whose certificates are accepted. */
  readonly ca: string;
  /** Whether a client without a certificate is turned away. One with a certificate that cannot be verified always is. */
  readonly required: boolean;
}
