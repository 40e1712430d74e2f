import { ServerNames } from '../../tls/index.ts';
import type { ListenModel, RedirectModel } from '../model/index.ts';
import type { GatewayConfig } from '../schema/index.ts';
import type { ListenerTls } from './read/index.ts';

/** Compiles `listen`. */
export function compileListen(
  config: GatewayConfig['listen'],
  tls: ListenerTls,
  adminTokenHash: Buffer | null,
): ListenModel {
  const { http, redirect, grpc, admin } = config;
  const { address, h2c, proxy_protocol: proxyProtocol } = http;
  return {
    http: { address, serves: 'every protocol', tls: tls.http, h2c, proxyProtocol },
    redirect: redirect === null ? null : compileRedirect(redirect, tls),
    grpc: grpc && {
      address: grpc.address,
      serves: 'grpc',
      tls: tls.grpc,
      h2c: true,
      proxyProtocol: grpc.proxy_protocol,
    },
    admin: admin && { address: admin.address, tls: tls.admin, tokenHash: adminTokenHash },
  };
}

function compileRedirect(
  { address, proxy_protocol: proxyProtocol, port }: NonNullable<GatewayConfig['listen']['redirect']>,
  tls: ListenerTls,
): RedirectModel {
  const names = (tls.http?.certificates ?? []).flatMap(({ serverNames }) => serverNames);
  const hosts = new ServerNames(names.map(name => [name, true] as const));
  return { address, serves: 'every protocol', tls: null, h2c: false, proxyProtocol, httpsPort: port, hosts };
}

/** Fields that the gateway alone writes where it verifies certificates of clients (RFC 9440). */
export function certificateFields({ http, grpc }: ListenerTls): readonly string[] {
  const isAsked = [http, grpc].some(tls => tls?.clientCertificates);
  return isAsked ? ['Client-Cert', 'Client-Cert-Chain'] : [];
}
