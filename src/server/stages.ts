import type { Socket } from 'node:net';
import type { ListenerModel } from '../config/index.ts';
import type { Accepted } from './accepted.ts';
import type { Client, ClientConnection } from './client-connection.ts';
import { Connection } from './http1/index.ts';
import { FirstBytes, Http2Connection } from './http2/index.ts';
import type { ListenerState } from './listener-state.ts';
import { ProxyHeaderStage } from './proxy-header-stage.ts';
import type { TlsTermination } from './tls/index.ts';

/** What the stages of one listener know of it. */
export interface StageTerms {
  readonly listener: ListenerModel;
  readonly state: ListenerState;
  /** Null: cleartext. */
  readonly tls: TlsTermination | null;
  /** Counts the connection as one of this address from here on, and refuses it where that has too many. */
  recount(accepted: Accepted, address: string): void;
}

// The stages of a connection, in their order. Each function opens its stage where the listener asks for it, or else what the next
// function opens. A stage is handed a function that opens what follows, and calls `accepted.become` with that.

/** Opens the stage that reads the first byte. `client` is the other end of the socket, over cleartext. */
export function openFirstStage(accepted: Accepted, client: Client, terms: StageTerms): ClientConnection {
  if (!terms.listener.proxyProtocol) return openSecurity(accepted, client, terms);
  return new ProxyHeaderStage(accepted, client, terms.state, told => {
    accepted.become(openSecurity(accepted, told, terms));
    terms.recount(accepted, told.peer);
  });
}

/** Opens what follows the PROXY header: the TLS handshake, or the protocol. */
function openSecurity(accepted: Accepted, client: Client, terms: StageTerms): ClientConnection {
  const { tls, state } = terms;
  if (tls === null) return openCleartext(accepted, client, terms);
  const time = { nowMs: state.clock.monotonicMs(), maxMs: state.timeouts.tlsHandshakeMs };
  return tls.open(accepted, client, time, (socket, secured, protocol) =>
    openProtocol(protocol === 'h2' ? 'h2' : 'http1', socket, secured, accepted, terms),
  );
}

/** Opens what serves cleartext: where a listener speaks both versions, the first bytes decide. */
function openCleartext(accepted: Accepted, client: Client, terms: StageTerms): ClientConnection {
  const { socket } = accepted;
  const { h2c, serves } = terms.listener;
  if (!h2c || serves === 'grpc') return openProtocol('http1', socket, client, accepted, terms);
  return new FirstBytes(socket, terms.state, protocol => {
    const next = openProtocol(protocol, socket, client, accepted, terms);
    accepted.become(next);
    return next;
  });
}

/**
 * Opens what speaks with the client to the end. `socket` carries the bytes of the protocol: the raw socket, or TLS over it.
 *
 * @param protocol what the client is known to speak; a listener of gRPC alone takes it for HTTP/2 all the same
 */
function openProtocol(
  protocol: 'http1' | 'h2',
  socket: Socket,
  client: Client,
  accepted: Accepted,
  { listener: { serves }, state }: StageTerms,
): ClientConnection {
  if (protocol === 'h2' || serves === 'grpc') return new Http2Connection(socket, client, state, serves);
  return new Connection(accepted, socket, client, state);
}
