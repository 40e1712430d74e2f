import { createHash } from 'node:crypto';
import {
  createSecureContext,
  createServer,
  type SecureContextOptions,
  type Server,
  type TLSSocket,
} from 'node:tls';
import { ServerNames } from './server-names.ts';
import type { CertificateOptions, TlsOptions } from './tls-options.ts';

export interface TlsServerDependencies {
  /** 48 secret bytes. Servers with equal keys and equal terms for client certificates resume each other's sessions. */
  readonly ticketKeys: Buffer;
}

/**
 * Makes a TLS server that listens nowhere: hand it accepted sockets with `emit('connection', socket)`. It emits `secureConnection` or
 * `tlsClientError` for each. The caller must bound the time of handshakes: Node's own timeout restarts with every byte.
 */
export function createTlsServer(options: TlsOptions, dependencies: TlsServerDependencies): Server {
  const { clientCertificates } = options;
  return createServer({
    ...contextOptions(options.certificates[0], options, dependencies),
    SNICallback: chooseContext(options, dependencies),
    ALPNProtocols: [...options.protocols],
    requestCert: clientCertificates !== null,
    rejectUnauthorized: clientCertificates?.required === true,
  });
}

/** Whether a client sent a certificate that cannot be verified. Where one may be left out, Node lets that pass. */
export function hasBadCertificate(socket: TLSSocket): boolean {
  return !socket.authorized && socket.getPeerX509Certificate() !== undefined;
}

type SniCallback = NonNullable<Parameters<typeof createServer>[0] & object>['SNICallback'];

function chooseContext(options: TlsOptions, dependencies: TlsServerDependencies): SniCallback {
  const contexts = new ServerNames(
    options.certificates.flatMap(certificate => {
      const context = createSecureContext(contextOptions(certificate, options, dependencies));
      return certificate.serverNames.map(name => [name, context] as const);
    }),
  );
  // Without a context, that of the server serves: the first certificate.
  return (name, done) => done(null, contexts.find(name));
}

function contextOptions(
  certificate: CertificateOptions | undefined,
  { minVersion, clientCertificates }: TlsOptions,
  { ticketKeys }: TlsServerDependencies,
): SecureContextOptions {
  return {
    ...(certificate !== undefined && { cert: certificate.certificate, key: certificate.key }),
    ...(clientCertificates !== null && { ca: clientCertificates.ca }),
    minVersion,
    ticketKeys,
    // A session proves what was verified when it began, so other terms for client certificates need a new one.
    sessionIdContext: createHash('sha256')
      .update(JSON.stringify(clientCertificates))
      .digest('hex')
      .slice(0, 32),
  };
}
