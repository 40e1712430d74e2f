import { isIP, type OnReadOpts, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { type Network, resetSocket, socketPath } from '../core/index.ts';
import type { UpstreamOptions, UpstreamTls } from './transport.ts';

/**
 * Makes a connection. Returns the socket at once; it emits the event that `readyEvent` names, or `error`. With `onread`, each
 * read fills the buffer last returned by `onread.buffer`, then calls `onread.callback`.
 */
export type Connect = (options: UpstreamOptions, onread?: OnReadOpts) => Socket;

/** A protocol's ALPN name. */
export type ConnectProtocol = 'http/1.1' | 'h2';

/** How long a connection may be silent before the system probes whether the peer is alive. */
const PROBE_AFTER_MS = 60_000;

/** Returns the function that makes connections for a pool, over TLS if configured. */
export function connectorFor({ tls }: UpstreamOptions, protocol: ConnectProtocol, network: Network): Connect {
  return tls === null ? tcpConnector(network) : tlsConnector(tls, protocol, network);
}

/** The event emitted when a connection to this upstream is established. */
export function readyEvent({ tls }: UpstreamOptions): 'connect' | 'secureConnect' {
  return tls === null ? 'connect' : 'secureConnect';
}

/** Closes with RST. Node supports this only for TCP; TLS is cut off without its closing alert. */
export function reset(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy();
  else resetSocket(socket);
}

/** Connects by TCP, or at a Unix socket. Resolves the name each time and tries all of its addresses (RFC 8305, as Node does it). */
function tcpConnector({ connect, lookup }: Network): Connect {
  return ({ host, port }, onread) => {
    const path = socketPath(host);
    return connect({
      ...(path === null
        ? { host, port, lookup, noDelay: true, keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS }
        : { path }),
      ...(onread === undefined ? {} : { onread }),
    });
  };
}

/** Returns what connects by TLS. Reads certificates once, and resumes the session of the last connection. */
function tlsConnector(
  tls: UpstreamTls,
  protocol: ConnectProtocol,
  { secureConnect, lookup }: Network,
): Connect {
  const secureContext = createSecureContext({
    ...(tls.ca !== null && { ca: tls.ca }),
    ...(tls.certificate !== null && { cert: tls.certificate }),
    ...(tls.key !== null && { key: tls.key }),
    minVersion: 'TLSv1.2',
  });
  let session: Buffer | undefined;
  return ({ host, port, name }, onread) => {
    // RFC 6066, 3: without the final dot, which only prevents search domains in lookups. Some servers refuse it.
    const serverName = (tls.serverName ?? name).replace(/\.$/, '');
    const socket = secureConnect({
      host,
      port,
      lookup,
      secureContext,
      rejectUnauthorized: tls.verify,
      ALPNProtocols: [protocol],
      // RFC 6066, 3: an address is not a server name. Node then verifies the certificate for the address.
      ...(isIP(serverName) === 0 && { servername: serverName }),
      ...(session !== undefined && { session }),
      ...(onread !== undefined && { onread }),
    });
    socket.setNoDelay(true);
    socket.setKeepAlive(true, PROBE_AFTER_MS);
    socket.on('session', latest => {
      session = latest;
    });
    socket.once('secureConnect', () => {
      // HTTP/2 must be negotiated by ALPN (RFC 9113, 3.2); HTTP/1.1 need not.
      if (protocol === 'h2' && socket.alpnProtocol !== 'h2')
        socket.destroy(new Error('the upstream does not agree on HTTP/2 by ALPN'));
    });
    return socket;
  };
}
