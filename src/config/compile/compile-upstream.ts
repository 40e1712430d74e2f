import type { UpstreamTls } from '../../upstream/index.ts';
import { formatHostPort, type UpstreamModel } from '../model/index.ts';
import { compileUpstreamSettings } from '../policies/index.ts';
import type { UpstreamConfig } from '../schema/index.ts';
import type { TlsFiles } from './secret-files.ts';

/**
 * Compiles an upstream.
 *
 * @param files what it names under `tls`
 */
export function compileUpstream(
  name: string,
  config: UpstreamConfig,
  files: TlsFiles | undefined,
): UpstreamModel {
  const { host, port, tls } = config.url;
  // Leaves out the default port, as a client with this URL would (RFC 9110, 4.2.1 and 7.2).
  const authority = formatHostPort(config.url).replace(tls ? /:443$/ : /:80$/, '');
  const { options, ...settings } = compileUpstreamSettings(config, { name, authority });
  const { protocol } = config;
  return {
    name,
    protocol,
    options: { ...options, host, port, protocol, tls: tls ? compileUpstreamTls(config.tls, files) : null },
    ...settings,
  };
}

function compileUpstreamTls(
  { server_name, verify }: UpstreamConfig['tls'],
  files: TlsFiles | undefined,
): UpstreamTls {
  return {
    serverName: server_name ?? null,
    ca: files?.ca ?? null,
    certificate: files?.certificate ?? null,
    key: files?.key ?? null,
    verify,
  };
}
