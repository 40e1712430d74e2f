import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import { type ConnectionListener, randomKey } from '../../core/index.ts';
import { createTlsServer, hasBadCertificate, type TlsOptions } from '../../tls/index.ts';
import type { Accepted } from '../accepted.ts';
import type { ClientConnection, ConnectedClient } from '../client-connection.ts';
import { type Handshakes, handshakeFailure, TlsHandshake } from './tls-handshake.ts';

/** Opens the stage after the handshake. `protocol` is the one that ALPN agreed on, or `null`. */
type OpenNext = (socket: TLSSocket, client: ConnectedClient, protocol: string | null) => ClientConnection;

interface TlsTerminationDependencies {
  /** The name of the listener, which is its key under `listen`. */
  readonly listener: string;
  readonly handshakes: Handshakes;
  readonly events: ConnectionListener;
  /** 48 secret bytes. Sessions are resumed as long as they stay the same. */
  readonly ticketKeys: Buffer;
}

/** The TLS of one listener, for one configuration of it. */
export class TlsTermination {
  readonly options: TlsOptions;
  readonly #dependencies: TlsTerminationDependencies;
  readonly #server: Server;
  /** The handshakes under way, by their accepted sockets. */
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
    // TLS takes this setting over: a client that closes its side during a handshake is gone.
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

/** Returns the socket under TLS. Node documents no way to it, nor another way to tell connections apart before they are secure. */
function acceptedUnder(socket: TLSSocket): Socket | undefined {
  return (socket as { readonly _parent?: Socket })._parent;
}

/** Writes the client's certificate as a byte sequence of structured fields (RFC 9440, 2.2). */
function certificateField(socket: TLSSocket): string | null {
  const certificate = socket.authorized ? socket.getPeerX509Certificate() : undefined;
  return certificate === undefined ? null : `:${certificate.raw.toString('base64')}:`;
}

/** How long keys are used: leaked ones reveal the sessions of TLS 1.2 that were resumed with them, so they change daily. */
const LIFE_MS = 24 * 60 * 60 * 1_000;

/**
 * The keys that seal session tickets. Node holds one set for each listener, so a client with a ticket of the previous set needs a
 * full handshake.
 */
export class TicketKeys {
  /** 48 secret bytes. */
  current = randomKey(48);
  #sinceMs: number;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** Makes new keys if these are old. Returns whether it did. */
  renew(nowMs: number): boolean {
    if (nowMs - this.#sinceMs < LIFE_MS) return false;
    this.current = randomKey(48);
    this.#sinceMs = nowMs;
    return true;
  }
}
