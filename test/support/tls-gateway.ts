import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Identity, TestAuthority } from './certificates.ts';
import { type ConfigPart, type GatewaySettings, type LocalGateway, startGateway } from './gateway.ts';
import { tempFolder } from './temp.ts';
import { type Script, startUpstream } from './wire/index.ts';

/** Signs every certificate of the tests that use it. */
export const AUTHORITY = new TestAuthority();

/** Writes a certificate and its key as `NAME.crt` and `NAME.key`, and returns how gateway.yaml names them. */
export async function writeIdentity(
  folder: string,
  name: string,
  { certificate, key }: Identity,
): Promise<{ readonly certificate_file: string; readonly key_file: string }> {
  const files = { certificate_file: join(folder, `${name}.crt`), key_file: join(folder, `${name}.key`) };
  await writeFile(files.certificate_file, certificate);
  await writeFile(files.key_file, key);
  return files;
}

export interface TlsGatewaySettings extends Omit<GatewaySettings, 'upstreamPort'> {
  /** What the upstream does with each request. Default: 200, `hello`. */
  readonly script?: Script;
  /** Default: one for `localhost` and 127.0.0.1. */
  readonly identities?: readonly Identity[];
  /** Further keys of `listen.http.tls`. */
  readonly tls?: ConfigPart;
  /** `listen.redirect`. */
  readonly redirect?: ConfigPart;
  /** Further keys of `listen.http`. */
  readonly listener?: ConfigPart;
}

/** A gateway that speaks TLS on `port`, with its upstream and the folder of its certificates, `0.crt` and so on. */
export async function startTlsGateway(settings: TlsGatewaySettings = {}) {
  const {
    script,
    tls,
    redirect,
    listener,
    identities = [AUTHORITY.forHosts('localhost', '127.0.0.1')],
    ...others
  } = settings;
  const folder = await tempFolder();
  const upstream = await startUpstream(script);
  const certificates = await Promise.all(
    identities.map((identity, index) => writeIdentity(folder, String(index), identity)),
  );
  const http = { address: '127.0.0.1:0', tls: { certificates, ...tls }, ...listener };
  const gateway: LocalGateway = await startGateway({
    ...others,
    upstreamPort: upstream.port,
    config: { ...others.config, listen: { http, ...(redirect && { redirect }), admin: '127.0.0.1:0' } },
  });
  return { gateway, upstream, folder };
}
