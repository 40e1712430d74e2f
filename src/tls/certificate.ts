import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';

/** The names and dates of a certificate. */
export interface CertificateFacts {
  /** The DNS names of the certificate, in lower case: `a.test`, `*.a.test`. */
  readonly serverNames: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** Reads the first certificate of a PEM text. Throws if the text contains none. */
export function readCertificate(pem: string): CertificateFacts {
  const { subjectAltName, validFromDate, validToDate } = new X509Certificate(pem);
  return {
    serverNames: dnsNames(subjectAltName ?? ''),
    notBeforeMs: validFromDate.getTime(),
    notAfterMs: validToDate.getTime(),
  };
}

/** Says why this certificate and this key, both readable, cannot serve together; `null` if they can. */
export function pairError(certificate: string, key: string): string | null {
  if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)))
    return 'the key does not belong to the certificate';
  try {
    createSecureContext({ cert: certificate, key });
    return null;
  } catch (error) {
    // OpenSSL names what it refuses, such as "ee key too small", and quotes nothing of the key.
    const reason = error instanceof Error && 'reason' in error ? String(error.reason) : 'no reason given';
    return `OpenSSL refuses the certificate: ${reason}`;
  }
}

/**
 * Node writes the names as `DNS:a.test, DNS:*.a.test, IP Address:192.0.2.1`. A value with a comma or a quote stands in quotes
 * (CVE-2021-44532), and is no host name.
 */
function dnsNames(subjectAltName: string): string[] {
  return subjectAltName
    .split(', ')
    .filter(part => /^DNS:[A-Za-z0-9*._-]+$/.test(part))
    .map(part => part.slice('DNS:'.length).toLowerCase());
}
