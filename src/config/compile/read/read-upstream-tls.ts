import type { Clock } from '../../../core/index.ts';
import { asMap, type ConfigFile } from '../../file/index.ts';
import { SecretFiles, type TlsFiles } from './secret-files.ts';

/**
 * Reads the files that upstreams name under `tls`, and checks what there stands beside the scheme of their URL. Whatever is wrong is among
 * the diagnostics of the file then.
 */
export async function readUpstreamTls(
  file: ConfigFile,
  clock: Clock,
): Promise<ReadonlyMap<string, TlsFiles>> {
  const upstreams = new Map<string, TlsFiles>();
  for (const [name, upstream] of Object.entries(asMap(asMap(file.value).upstreams))) {
    const { url, tls } = asMap(upstream);
    if (tls === undefined) continue;
    upstreams.set(name, await new SecretFiles(file, ['upstreams', name], clock).tls());
    checkUse(file, name, url, asMap(tls));
  }
  return upstreams;
}

function checkUse(
  file: ConfigFile,
  name: string,
  url: unknown,
  tls: Readonly<Record<string, unknown>>,
): void {
  const section = ['upstreams', name, 'tls'];
  if (typeof url === 'string' && url.startsWith('http:') && Object.keys(tls).length > 0) {
    file.add(section, '"tls" has no use without TLS: write https://', { about: 'key' });
  } else if (tls.verify === false) {
    const message = 'anyone between the gateway and this service can read and change everything';
    file.add([...section, 'verify'], message, { severity: 'warning' });
  }
}
