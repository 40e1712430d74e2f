import type { Clock } from '../../core/index.ts';
import { type CertificateOptions, readCertificate, type TlsOptions } from '../../edge/tls/index.ts';
import { asMap, type ConfigFile, isMap, type Path, type RawMap } from '../file/index.ts';
import { firstWrittenUrl, listenerTlsSchema } from '../schema/index.ts';
import { type FileText, type KeyPair, SecretFiles, type TlsFiles } from './secret-files.ts';

/** The TLS options of each listener; `null` for cleartext, or if there is no such listener. */
export interface ListenerTls {
  readonly http: TlsOptions | null;
  readonly grpc: TlsOptions | null;
  readonly admin: TlsOptions | null;
}

/**
 * Reads `tls` of each listener, and the files that it names. If that fails, adds diagnostics to the file and leaves `null` for
 * the listener.
 */
export async function readListenerTls(file: ConfigFile, clock: Clock): Promise<ListenerTls> {
  const admin = await readTls(file, 'admin', clock);
  return {
    http: await readTls(file, 'http', clock),
    grpc: await readTls(file, 'grpc', clock),
    admin: admin && { ...admin, protocols: ['http/1.1'] },
  };
}

async function readTls(file: ConfigFile, listener: string, clock: Clock): Promise<TlsOptions | null> {
  const section = ['listen', listener, 'tls'];
  const raw = file.valueAt(section);
  if (!isMap(raw)) return null;
  const files = new SecretFiles(file, section, clock);
  const pairs = await readPairs(files, raw.certificates);
  const ca = await files.authorities('client_certificates', 'ca_file');
  const { data: config } = listenerTlsSchema.safeParse(raw);
  if (config === undefined) return null;
  const certificates = config.certificates.flatMap(({ certificate_file }, index) =>
    certificateOptions(certificate_file, pairs[index]),
  );
  if (certificates.length === pairs.length) warnOfUnused(file, [...section, 'certificates'], certificates);
  return {
    certificates,
    minVersion: config.min_version,
    protocols: listener === 'grpc' ? ['h2'] : config.http2 ? ['h2', 'http/1.1'] : ['http/1.1'],
    clientCertificates: clientCertificates(ca, config.client_certificates?.required),
  };
}

async function readPairs(files: SecretFiles, certificates: unknown): Promise<readonly KeyPair[]> {
  const pairs: KeyPair[] = [];
  // Reads one after the other, so that problems are found in a fixed order.
  for (const index of Array.isArray(certificates) ? certificates.keys() : [])
    pairs.push(await files.keyPair('certificates', index));
  return pairs;
}

/** Returns none if a file is unusable, which was reported. */
function certificateOptions(name: string, pair: KeyPair | undefined): readonly CertificateOptions[] {
  if (typeof pair?.certificate !== 'string' || typeof pair.key !== 'string') return [];
  const { serverNames, notAfterMs } = readCertificate(pair.certificate);
  return [{ name, certificate: pair.certificate, key: pair.key, serverNames, notAfterMs }];
}

function clientCertificates(ca: FileText, required = true): TlsOptions['clientCertificates'] {
  return typeof ca === 'string' ? { ca, required } : null;
}

/** Warns about certificates that are never used: clients select all but the first by name. */
function warnOfUnused(file: ConfigFile, path: Path, certificates: readonly CertificateOptions[]): void {
  const taken = new Set<string>();
  for (const [index, { serverNames }] of certificates.entries()) {
    if (index > 0 && serverNames.every(name => taken.has(name))) {
      const why =
        serverNames.length === 0
          ? 'it contains no DNS name'
          : 'an earlier certificate already has all its names';
      file.add([...path, index, 'certificate_file'], `no client is served this certificate: ${why}`, {
        severity: 'warning',
      });
    }
    for (const name of serverNames) taken.add(name);
  }
}

/**
 * Reads the files that upstreams name under `tls`, and checks them against the scheme of the URL. Adds diagnostics to the file.
 */
export async function readUpstreamTls(
  file: ConfigFile,
  clock: Clock,
): Promise<ReadonlyMap<string, TlsFiles>> {
  const upstreams = new Map<string, TlsFiles>();
  for (const [name, upstream] of Object.entries(asMap(asMap(file.value).upstreams))) {
    const written = asMap(upstream);
    const { tls } = written;
    if (tls === undefined) continue;
    upstreams.set(name, await new SecretFiles(file, ['upstreams', name], clock).tls());
    checkUse(file, name, firstWrittenUrl(written), asMap(tls));
  }
  return upstreams;
}

function checkUse(file: ConfigFile, name: string, url: unknown, tls: RawMap): void {
  const section = ['upstreams', name, 'tls'];
  if (typeof url === 'string' && url.startsWith('http:') && Object.keys(tls).length > 0) {
    file.add(section, '"tls" has no effect without TLS: write https://', { about: 'key' });
  } else if (tls.verify === false) {
    const message = 'anyone between the gateway and this service can read and change everything';
    file.add([...section, 'verify'], message, { severity: 'warning' });
  }
}
