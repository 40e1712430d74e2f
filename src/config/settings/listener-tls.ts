import { z } from 'zod';
import type { Clock } from '../../core/index.ts';
import { type CertificateOptions, readCertificate, type TlsOptions } from '../../wire/tls/index.ts';
import { asList, type ConfigFile, isMap, Section } from '../file/index.ts';
import { choice, mapExpected, mapOf, pathOfFile, unshown, yesOrNo } from '../values/index.ts';
import { type KeyPair, SecretFiles } from './secret-files.ts';

// `tls` of a listener: its keys, and the files that they name.

const CERTIFICATES_EXPECTED =
  'expected a list such as [{ certificate_file: tls/tls.crt, key_file: tls/tls.key }]';

const certificate = mapOf('{ certificate_file: tls/tls.crt, key_file: tls/tls.key }', {
  certificate_file: pathOfFile().describe(
    'The certificate in PEM form, followed by the intermediate certificates.',
  ),
  key_file: pathOfFile().describe('Its key, unencrypted PEM.'),
});

const clientCertificates = mapOf('{ ca_file: clients-ca.crt }', {
  ca_file: pathOfFile().describe('The authorities whose certificates are accepted.'),
  required: yesOrNo(true).describe(
    'Whether a client must have a certificate. A client with a certificate that cannot be verified is always rejected.',
  ),
});

const listenerKeys = {
  certificates: unshown(
    z
      .array(certificate, { error: CERTIFICATES_EXPECTED })
      .min(1, { error: 'TLS needs a certificate: name at least one' })
      .describe(
        'Each serves the names in it: a client is matched by the name it asks for (SNI). The first one serves all other clients.',
      ),
  ),
  min_version: choice(['TLSv1.2', 'TLSv1.3']).describe('The lowest TLS version. The highest is TLSv1.3.'),
};
const SUCH_AS = mapExpected('{ certificates: [{ certificate_file: tls/tls.crt, key_file: tls/tls.key }] }');
const LISTENER_TLS = 'Speaks TLS there. Files are PEM, relative to this file, and followed when they change.';

export const listenerTlsSchema = z
  .strictObject(
    {
      ...listenerKeys,
      http2: yesOrNo(true).describe(
        'Whether clients may choose HTTP/2 in the handshake (ALPN). All may speak HTTP/1.1.',
      ),
      client_certificates: clientCertificates
        .optional()
        .describe(
          'Asks clients for a certificate. Upstreams get a verified one in Client-Cert (RFC 9440); this field is removed from what clients send.',
        ),
    },
    SUCH_AS,
  )
  .describe(LISTENER_TLS);

export const adminTlsSchema = z
  .strictObject(
    {
      ...listenerKeys,
      client_certificates: clientCertificates.optional().describe('Asks clients for a certificate.'),
    },
    SUCH_AS,
  )
  .describe(LISTENER_TLS);

/** The TLS options of each listener; `null` for cleartext, or if there is no such listener. */
export interface ListenerTls {
  readonly http: TlsOptions | null;
  readonly grpc: TlsOptions | null;
  readonly admin: TlsOptions | null;
}

/** What clients of HTTP/1 offer by ALPN: those that ask for 1.0, such as curl, that alone. */
const HTTP1 = ['http/1.1', 'http/1.0'];

/** Reads `tls` of each listener and the files it names. A failure is reported, and leaves `null`. */
export async function readListenerTls(file: ConfigFile, clock: Clock): Promise<ListenerTls> {
  const admin = await readTls(file, 'admin', clock);
  return {
    http: await readTls(file, 'http', clock),
    grpc: await readTls(file, 'grpc', clock),
    admin: admin && { ...admin, protocols: HTTP1 },
  };
}

async function readTls(file: ConfigFile, listener: string, clock: Clock): Promise<TlsOptions | null> {
  const path = ['listen', listener, 'tls'];
  const raw = file.valueAt(path);
  if (!isMap(raw)) return null;
  const section = new Section(file, path, raw);
  const files = new SecretFiles(section, clock);
  const pairs: KeyPair[] = [];
  // One after the other, so that problems are found in a fixed order.
  for (const index of asList(raw.certificates).keys()) pairs.push(await files.keyPair('certificates', index));
  const ca = await files.read('certificates', 'client_certificates', 'ca_file');
  const { data: config } = listenerTlsSchema.safeParse(raw);
  if (config === undefined) return null;
  const certificates = config.certificates.flatMap(({ certificate_file }, index) =>
    certificateOptions(certificate_file, pairs[index]),
  );
  if (certificates.length === pairs.length) warnOfUnused(section, certificates);
  return {
    certificates,
    minVersion: config.min_version,
    protocols: listener === 'grpc' ? ['h2'] : config.http2 ? ['h2', ...HTTP1] : HTTP1,
    clientCertificates:
      typeof ca === 'string' ? { ca, required: config.client_certificates?.required ?? true } : null,
  };
}

/** Returns none if a file is unusable, which was reported. */
function certificateOptions(name: string, pair: KeyPair | undefined): readonly CertificateOptions[] {
  if (typeof pair?.certificate !== 'string' || typeof pair.key !== 'string') return [];
  const { serverNames, notAfterMs } = readCertificate(pair.certificate);
  return [{ name, certificate: pair.certificate, key: pair.key, serverNames, notAfterMs }];
}

/** Warns about certificates that are never used: clients select all but the first by name. */
function warnOfUnused(tls: Section, certificates: readonly CertificateOptions[]): void {
  const taken = new Set<string>();
  for (const [index, { serverNames }] of certificates.entries()) {
    const hasNames = serverNames.length > 0;
    const why = hasNames ? 'an earlier certificate already has all its names' : 'it contains no DNS name';
    if (index > 0 && serverNames.every(name => taken.has(name)))
      tls.warn(['certificates', index, 'certificate_file'], `no client is served this certificate: ${why}`);
    for (const name of serverNames) taken.add(name);
  }
}
