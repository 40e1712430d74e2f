import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import type { SecureContextOptions, Server, TLSSocket } from 'node:tls';
import { createSecureContext, createServer } from 'node:tls';

/** The length of the keys that seal session tickets. */
export const TICKET_KEY_BYTES = 48;

/**
 * Makes a TLS server that does not listen: pass it accepted sockets with `emit('connection', socket)`. It emits
 * `secureConnection` or `tlsClientError` for each. The caller must limit the time of handshakes: Node's own timeout restarts with
 * every byte.
 *
 * @param ticketKeys `TICKET_KEY_BYTES` secret bytes. Servers with equal keys and equal terms for client certificates resume each
 *   other's sessions
 */
export function createTlsServer(options: TlsOptions, ticketKeys: Buffer): Server {
  const { clientCertificates } = options;
  return createServer({
    ...contextOptions(options.certificates[0], options, ticketKeys),
    SNICallback: chooseContext(options, ticketKeys),
    ALPNProtocols: [...options.protocols],
    requestCert: clientCertificates !== null,
    rejectUnauthorized: clientCertificates?.required === true,
  });
}

/** Whether a client sent a certificate that cannot be verified. Node lets that pass if certificates are optional. */
export function hasBadCertificate(socket: TLSSocket): boolean {
  return !socket.authorized && socket.getPeerX509Certificate() !== undefined;
}

type SniCallback = NonNullable<Parameters<typeof createServer>[0] & object>['SNICallback'];

function chooseContext(options: TlsOptions, ticketKeys: Buffer): SniCallback {
  const contexts = new ServerNames(
    options.certificates.flatMap(certificate => {
      const context = createSecureContext(contextOptions(certificate, options, ticketKeys));
      return certificate.serverNames.map(name => [name, context] as const);
    }),
  );
  // Without a context, Node uses that of the server: the first certificate.
  return (name, done) => done(null, contexts.find(name));
}

function contextOptions(
  certificate: CertificateOptions | undefined,
  { minVersion, clientCertificates }: TlsOptions,
  ticketKeys: Buffer,
): SecureContextOptions {
  return {
    ...(certificate !== undefined && { cert: certificate.certificate, key: certificate.key }),
    ...(clientCertificates !== null && { ca: clientCertificates.ca }),
    minVersion,
    ticketKeys,
    // A session proves what was verified when it began, so changed terms for client certificates need a new one.
    sessionIdContext: createHash('sha256')
      .update(JSON.stringify(clientCertificates))
      .digest('hex')
      .slice(0, 32),
  };
}

export interface TlsOptions {
  /** At least one certificate. The first is for clients that request no name, or one that no certificate has. */
  readonly certificates: readonly CertificateOptions[];
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
  /** Protocols offered to clients by ALPN, in order of preference. */
  readonly protocols: readonly string[];
  /** How clients prove their identity; `null` if they are not asked for a certificate. */
  readonly clientCertificates: ClientCertificateOptions | null;
}

export interface CertificateOptions {
  /** The file as the operator wrote it, which is its name in metrics and on the status page. */
  readonly name: string;
  /** PEM: the certificate, then the intermediate ones. */
  readonly certificate: string;
  /** PEM, unencrypted. */
  readonly key: string;
  /** The DNS names of the certificate, `a.test` or `*.a.test`, in lower case. */
  readonly serverNames: readonly string[];
  readonly notAfterMs: number;
}

export interface ClientCertificateOptions {
  /** The authorities whose certificates are accepted, as PEM. */
  readonly ca: string;
  /** Whether a client without a certificate is rejected. One with a certificate that cannot be verified always is. */
  readonly required: boolean;
}

/** Finds the value for a host: by its full name, or else by a wildcard for its first label (RFC 9525, 6.3). */
export class ServerNames<Value> {
  readonly #values = new Map<string, Value>();

  /** @param entries names in lower case, `a.test` or `*.a.test`; of duplicate names, the first entry counts */
  constructor(entries: Iterable<readonly [name: string, value: Value]>) {
    for (const [name, value] of entries) if (!this.#values.has(name)) this.#values.set(name, value);
  }

  find(name: string): Value | undefined {
    const host = name.toLowerCase();
    return this.#values.get(host) ?? this.#values.get(`*${host.slice(host.indexOf('.'))}`);
  }
}

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

/** Returns why this certificate and key, both readable, cannot be used together; `null` if they can. */
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
 * Node formats the names as `DNS:a.test, DNS:*.a.test, IP Address:192.0.2.1`. A value with a comma or a quote is quoted
 * (CVE-2021-44532), and is not a host name.
 */
function dnsNames(subjectAltName: string): string[] {
  return subjectAltName
    .split(', ')
    .filter(part => /^DNS:[A-Za-z0-9*._-]+$/.test(part))
    .map(part => part.slice('DNS:'.length).toLowerCase());
}
