import { z } from 'zod';

import { choice, mapSuchAs, pathOfFile, yesOrNo } from '../plain-values.ts';
import { unshown } from '../secrecy.ts';

const CERTIFICATES_EXPECTED =
  'expected a list such as [{ certificate_file: tls/tls.crt, key_file: tls/tls.key }]';

const SERVER_NAME_EXPECTED = 'expected the name of a host such as api.internal';

const certificate = z.strictObject(
  {
    certificate_file: pathOfFile().describe(
      'The certificate in PEM form, followed by those between it and its authority.',
    ),
    key_file: pathOfFile().describe('Its key, unencrypted PEM.'),
  },
  mapSuchAs('{ certificate_file: tls/tls.crt, key_file: tls/tls.key }'),
);

const clientCertificates = z.strictObject(
  {
    ca_file: pathOfFile().describe('The authorities whose certificates are accepted.'),
    required: yesOrNo()
      .prefault(true)
      .describe(
        'Whether a client without a certificate is turned away. One whose certificate cannot be verified always is.',
      ),
  },
  mapSuchAs('{ ca_file: clients-ca.crt }'),
);

const listenerKeys = {
  certificates: unshown(
    z
      .array(certificate, { error: CERTIFICATES_EXPECTED })
      .min(1, { error: 'TLS needs a certificate: name at least one' })
      .describe(
        'Chosen by the name that a client asks for (SNI), as the certificates themselves say; the first one serves all other clients.',
      ),
  ),
  min_version: choice(['TLSv1.2', 'TLSv1.3'])
    .prefault('TLSv1.2')
    .describe('The oldest version of TLS that is spoken. The newest is TLSv1.3.'),
};
const SUCH_AS = mapSuchAs('{ certificates: [{ certificate_file: tls/tls.crt, key_file: tls/tls.key }] }');
const LISTENER_TLS = 'Speaks TLS there. Files are PEM, relative to this file, and followed when they change.';

/** `tls` of a listener for clients. */
export const listenerTlsSchema = z
  .strictObject(
    {
      ...listenerKeys,
      http2: yesOrNo()
        .prefault(true)
        .describe('Whether clients may choose HTTP/2 in the handshake (ALPN). All may speak HTTP/1.1.'),
      client_certificates: clientCertificates
        .optional()
        .describe(
          'Asks clients for a certificate. A verified one goes upstream as Client-Cert (RFC 9440), which nobody else may send then.',
        ),
    },
    SUCH_AS,
  )
  .describe(LISTENER_TLS);

/** `tls` of the admin listener. */
export const adminTlsSchema = z
  .strictObject(
    {
      ...listenerKeys,
      client_certificates: clientCertificates.optional().describe('Asks clients for a certificate.'),
    },
    SUCH_AS,
  )
  .describe(LISTENER_TLS);

/** `tls` of an upstream. */
export const upstreamTlsSchema = z
  .strictObject({
    ca_file: pathOfFile().optional().describe('Certificates to trust instead of the usual authorities.'),
    certificate_file: pathOfFile()
      .optional()
      .describe("The gateway's own certificate, for a service that asks for one."),
    key_file: pathOfFile().optional().describe('The key of that certificate, unencrypted.'),
    server_name: z
      .string({ error: SERVER_NAME_EXPECTED })
      .regex(/^(?![\d.]+$)[A-Za-z0-9._-]{1,253}$/, { error: SERVER_NAME_EXPECTED })
      .optional()
      .describe(
        "The name that is asked for (SNI) and that the service's certificate has to hold. Left out: the host of the url.",
      ),
    verify: yesOrNo()
      .prefault(true)
      .describe(
        'false: any certificate is accepted, so that anyone on the way can read and change everything.',
      ),
  })
  .describe('Terms of https://. Files are PEM, relative to this file, and followed when they change.');
