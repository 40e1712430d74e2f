import type { ServerNames, TlsOptions } from '../../tls/index.ts';
import type { HostPort } from '../host-port.ts';

export interface ListenModel {
  readonly http: ListenerModel;
  /** The listener that redirects to https; `null` if there is none. */
  readonly redirect: RedirectModel | null;
  /** The listener for gRPC alone; `null` if there is none. */
  readonly grpc: ListenerModel | null;
  /** The admin listener; `null` if there is none. */
  readonly admin: AdminListenerModel | null;
}

/** Where a listener listens, and what it speaks there. */
export interface ListenerModel {
  readonly address: HostPort;
  /** What it serves. `grpc`: gRPC calls and nothing else, over HTTP/2 alone. */
  readonly serves: 'every protocol' | 'grpc';
  /** Its certificates; `null` if it speaks cleartext. */
  readonly tls: TlsOptions | null;
  /** Whether cleartext clients may speak HTTP/2 as well, by prior knowledge (RFC 9113, 3.3). */
  readonly h2c: boolean;
  /** Whether each connection comes from a trusted proxy and begins with a header of the PROXY protocol. */
  readonly proxyProtocol: boolean;
}

/** A listener that sends clients on to https. */
export interface RedirectModel extends ListenerModel {
  /** The port of https that clients are sent to. */
  readonly httpsPort: number;
  /** The hosts that certificates of `listen.http` are for. */
  readonly hosts: ServerNames<true>;
}

export interface AdminListenerModel {
  readonly address: HostPort;
  /** SHA-256 of the token of the admin API; `null` if none is configured. */
  readonly tokenHash: Buffer | null;
  /** Its certificates; `null` if it speaks cleartext. */
  readonly tls: TlsOptions | null;
}
