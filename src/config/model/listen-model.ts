import type { ServerNames, TlsOptions } from '../../tls/index.ts';
import type { HostPort } from '../host-port.ts';

export interface ListenModel {
  readonly http: ListenerModel;
  /** Null: no listener that redirects. */
  readonly redirect: RedirectModel | null;
  /** Null: gRPC has no listener of its own. */
  readonly grpc: ListenerModel | null;
  /** Null: no admin listener. */
  readonly admin: AdminListenerModel | null;
}

/** Where a listener listens, and what it speaks there. */
export interface ListenerModel {
  readonly address: HostPort;
  /** `grpc`: calls of gRPC and nothing else, over HTTP/2 alone. */
  readonly serves: 'every protocol' | 'grpc';
  /** Null: cleartext. */
  readonly tls: TlsOptions | null;
  /** Whether cleartext clients may speak HTTP/2 as well, without a word before (RFC 9113, 3.3). */
  readonly h2c: boolean;
  /** Each connection comes from a trusted proxy and begins with a header of the PROXY protocol. */
  readonly proxyProtocol: boolean;
}

/** A listener that sends clients on to https. */
export interface RedirectModel extends ListenerModel {
  /** Of https. */
  readonly httpsPort: number;
  /** The hosts that certificates of `listen.http` are for. */
  readonly hosts: ServerNames<true>;
}

export interface AdminListenerModel {
  readonly address: HostPort;
  /** SHA-256 of the token of the admin API; null if absent is configured. */
  readonly tokenHash: Buffer | null;
  /** Null: cleartext. */
  readonly tls: TlsOptions | null;
}
