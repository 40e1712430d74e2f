import { serviceHost, type UpstreamTls } from '../../upstream/index.ts';
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
  const listed = listedUrls(config);
  const [authority = '', ...others] = listed.map(({ url }) => authorityOf(url));
  const hasOthers = others.some(other => other !== authority);
  const isTls = listed.some(({ url }) => url.tls);
  const { protocol } = config;
  const { options, ...settings } = compileUpstreamSettings(config, { name, authority, hasOthers, protocol });
  return {
    name,
    protocol,
    base: listed[0]?.url.base ?? '',
    endpoints: listed.map(({ url: { host, port, lookup }, weight }) => ({ host, port, weight, lookup })),
    options: { ...options, protocol, tls: isTls ? compileUpstreamTls(config.tls, files) : null },
    ...settings,
    health: settings.health && { ...settings.health, host: settings.hostHeader ?? authority },
  };
}

/** Lists the addresses under `url` or `urls`. The checks see to it that there is exactly one of both keys. */
function listedUrls({ url, urls }: UpstreamConfig): NonNullable<UpstreamConfig['urls']> {
  return urls ?? (url === undefined ? [] : [{ url, weight: 1 }]);
}

/**
 * Leaves out the default port, as a client with this URL would (RFC 9110, 4.2.1 and 7.2). Of an SRV name it is the
 * host behind the service and its protocol.
 */
function authorityOf(url: NonNullable<UpstreamConfig['url']>): string {
  if (url.lookup === 'srv') return serviceHost(url.host);
  return formatHostPort(url).replace(url.tls ? /:443$/ : /:80$/, '');
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
