import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import { type ConnectionListener, randomKey } from '../../core/index.ts';
import { createTlsServer, hasBadCertificate, type TlsOptions } from '../../tls/index.ts';
import type { Accepted } from '../accepted.ts';
import type { ClientConnection, ConnectedClient } from '../client-connection.ts';
import { type Handshakes, handshakeFailure, TlsHandshake } from './tls-handshake.ts';

/** Opens the stage behind the handshake. `protocol` is the one agreed on by ALPN, or null. */
type OpenNext = (socket: TLSSocket, client: ConnectedClient, protocol: string | null) => ClientConnection;

interface TlsTerminationDependencies {
  /** The listener's key under `listen`. */
  readonly listener: string;
  readonly handshakes: Handshakes;
  readonly events: ConnectionListener;
  /** 48 secret bytes: sessions are resumed as long as they stay the same. */
  readonly ticketKeys: Buffer;
}

/** TLS of one listener, for one configuration of it. */
export class TlsTermination {
  readonly options: TlsOptions;
  readonly #dependencies: TlsTerminationDependencies;
  readonly #server: Server;
  /** By accepted socket. */
  readonly #underWay = new WeakMap<Socket, TlsHandshake>();

  constructor(options: TlsOptions, dependencies: TlsTerminationDependencies) {
    this.options = options;
    this.#dependencies = dependencies;
    this.#server = createTlsServer(options, dependencies);
    this.#server.on('secureConnection', socket => this.#onSecure(socket));
    this.#server.on('tlsClientError', (error, socket) =>
      this.#handshakeOf(socket)?.fail(handshakeFailure(error, socket.authorizationError !== null)),
    );
  }

  /** Opens the handshake of an accepted socket. `next` opens what follows. */
  open(
    accepted: Accepted,
    client: ConnectedClient,
    time: { readonly nowMs: number; readonly maxMs: number },
    next: OpenNext,
  ): ClientConnection {
    const { handshakes, events, listener } = this.#dependencies;
    return new TlsHandshake(accepted.socket, time.nowMs, {
      handshakes,
      maxMs: time.maxMs,
      wrap: handshake => this.#wrap(handshake),
      ended: (handshake, outcome) => {
        this.#underWay.delete(handshake.socket);
        events.handshakeEnded(listener, outcome);
      },
      secured: socket => {
        const certificate = certificateField(socket);
        const secured = { ...client, scheme: 'https', certificate } as const;
        accepted.become(next(socket, secured, socket.alpnProtocol || null));
      },
    });
  }

  #wrap(handshake: TlsHandshake): void {
    this.#underWay.set(handshake.socket, handshake);
    // Which TLS takes over: a client that closes its side inside a handshake is gone.
    handshake.socket.allowHalfOpen = false;
    this.#server.emit('connection', handshake.socket);
  }

  #onSecure(socket: TLSSocket): void {
    const handshake = this.#handshakeOf(socket);
    // A renegotiation could go on without end, and TLS 1.3 has none.
    socket.disableRenegotiation();
    socket.allowHalfOpen = true;
    if (hasBadCertificate(socket)) handshake?.fail('client_certificate');
    else handshake?.succeed(socket);
  }

  #handshakeOf(socket: TLSSocket): TlsHandshake | undefined {
    const accepted = acceptedUnder(socket);
    return accepted === undefined ? undefined : this.#underWay.get(accepted);
  }
}

/** The socket under TLS. Node documents no way to it, and no other way to tell connections apart before they are secure. */
function acceptedUnder(socket: TLSSocket): Socket | undefined {
  return (socket as { readonly _parent?: Socket })._parent;
}

/** RFC 9440, 2.2: the certificate as a byte sequence of structured fields. */
function certificateField(socket: TLSSocket): string | null {
  const certificate = socket.authorized ? socket.getPeerX509Certificate() : undefined;
  return certificate === undefined ? null : `:${certificate.raw.toString('base64')}:`;
}

/** Keys that leak open the sessions of TLS 1.2 that were resumed with them, so they change daily. */
const LIFE_MS = 24 * 60 * 60 * 1_000;

/**
 * The keys that seal session tickets. Node holds one set for each listener: a ticket of the one before costs its client a full
 * handshake.
 */
export class TicketKeys {
  /** 48 secret bytes. */
  current = randomKey(48);
  #sinceMs: number;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** Makes new ones where these are old. Whether it did. */
  renew(nowMs: number): boolean {
    if (nowMs - this.#sinceMs < LIFE_MS) return false;
    this.current = randomKey(48);
    this.#sinceMs = nowMs;
    return true;
  }
}
