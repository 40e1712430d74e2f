import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import type { ConnectionListener, HandshakeOutcome } from '../../core/index.ts';
import { inNextTurn } from '../../core/index.ts';
import { errors } from '../../gateway/index.ts';
import { createTlsServer, hasBadCertificate, type TlsOptions } from '../../wire/tls/index.ts';
import type { Accepted, ClientConnection, ConnectedClient } from './client-connection.ts';

/** RFC 8446, 5.1: the content type of every handshake record. */
const HANDSHAKE_RECORD = 0x16;
/** How long a connection that sent nothing is kept while draining. */
const DRAIN_IDLE_MS = 1_000;

interface HandshakeOwner {
  readonly handshakes: Handshakes;
  readonly maxMs: number;
  /** Starts TLS on the socket. Then `succeed` or `fail` is called, or the socket closes. */
  wrap(handshake: TlsHandshake): void;
  ended(handshake: TlsHandshake, outcome: HandshakeOutcome): void;
  /** Called after `ended` if the handshake succeeded: opens the next stage. */
  secured(socket: TLSSocket): void;
  /** Called after `ended` if the client spoke plain HTTP: sends it an answer in HTTP. */
  answerHttp(): void;
}

/**
 * What a TLS handshake is doing.
 *
 * - `waiting for bytes` to `in progress`: the first byte is that of a TLS handshake
 * - `waiting for bytes` to `over`: it is another byte; or none comes while the gateway drains
 * - `in progress` to `over`: the handshake has succeeded or failed
 * - any to `over`: it takes too long, has to make room for others, or the client disconnected
 */
type HandshakePhase =
  /** No byte has arrived, so no memory for TLS is allocated. */
  | 'waiting for bytes'
  /** The handshake waits for its turn (`Handshakes`), or Node performs it. */
  | 'in progress'
  | 'over';

class TlsHandshake implements ClientConnection {
  readonly socket: Socket;
  readonly #owner: HandshakeOwner;
  readonly #sinceMs: number;
  #phase: HandshakePhase = 'waiting for bytes';
  #draining = false;
  /** When a sweep first found the gateway draining; `null` before. */
  #drainingSinceMs: number | null = null;
  readonly #onReadable = () => this.#readFirst();
  readonly #onEnd = () => this.#leave();
  // Wait for a turn: Node reports why it closed a socket later in the same turn of the event loop.
  readonly #onClose = () => inNextTurn(() => this.#leave());

  constructor(socket: Socket, nowMs: number, owner: HandshakeOwner) {
    this.socket = socket;
    this.#owner = owner;
    this.#sinceMs = nowMs;
    socket.on('readable', this.#onReadable);
    socket.on('end', this.#onEnd);
    socket.on('close', this.#onClose);
    // 'close' follows and is handled.
    socket.on('error', () => {});
  }

  /** Closes without an answer: before the handshake TLS has none, and completing it would cost too much now. */
  refuse(): void {
    this.fail('capacity');
  }

  sweep(nowMs: number): void {
    if (this.#draining) this.#drainingSinceMs ??= nowMs;
    const drainingMs = nowMs - (this.#drainingSinceMs ?? nowMs);
    if (this.#phase === 'waiting for bytes' && drainingMs >= DRAIN_IDLE_MS) this.#leave();
    else if (nowMs - this.#sinceMs > this.#owner.maxMs) this.fail('timeout');
  }

  /** Lets a handshake that has begun continue. The next stage is drained instead. */
  drain(): void {
    this.#draining = true;
  }

  begin(): void {
    if (this.#phase !== 'over') this.#owner.wrap(this);
  }

  succeed(socket: TLSSocket): void {
    if (this.#phase === 'over') return;
    this.#over(socket.isSessionReused() ? 'resumed' : 'full');
    this.#handOn();
    this.#owner.secured(socket);
  }

  /** Leaves the socket to the next stage. */
  #handOn(): void {
    this.socket.off('end', this.#onEnd);
    this.socket.off('close', this.#onClose);
  }

  fail(reason: HandshakeOutcome): void {
    if (this.#phase === 'over') return;
    this.#over(reason);
    this.socket.destroy();
  }

  /** Ends the connection. Without a byte there was no handshake: health checks open and close connections. */
  #leave(): void {
    if (this.#phase !== 'waiting for bytes') {
      this.fail('closed');
      return;
    }
    this.#phase = 'over';
    this.socket.destroy();
  }

  #over(outcome: HandshakeOutcome): void {
    this.#phase = 'over';
    this.#owner.handshakes.leave(this);
    this.#owner.ended(this, outcome);
  }

  /**
   * Starts TLS only when the first bytes have arrived: a connection that sends nothing costs no more than in cleartext. Puts the
   * bytes back for TLS to read.
   */
  #readFirst(): void {
    const bytes: Buffer | null = this.socket.read();
    if (bytes === null || this.#phase !== 'waiting for bytes') return;
    this.socket.off('readable', this.#onReadable);
    if (isCapital(bytes[0])) {
      this.#over('cleartext');
      this.#handOn();
      this.#owner.answerHttp();
      return;
    }
    if (bytes[0] !== HANDSHAKE_RECORD) {
      this.fail('cleartext');
      return;
    }
    this.socket.unshift(bytes);
    this.#phase = 'in progress';
    this.#owner.handshakes.enter(this);
  }
}

/** Every HTTP request begins with a capital letter: both the usual methods and the preface of HTTP/2. */
function isCapital(byte = 0): boolean {
  return byte >= 0x41 && byte <= 0x5a;
}

/** Maps error codes to the reason why a handshake failed. Codes with ALERT name the alert that the client sent. */
const REASONS: readonly (readonly [pattern: RegExp, reason: HandshakeOutcome])[] = [
  [/^ECONNRESET$|^EPIPE$|^ERR_STREAM_PREMATURE_CLOSE$/, 'closed'],
  [/^ERR_SSL_(UNSUPPORTED_PROTOCOL|VERSION_TOO_LOW|WRONG_SSL_VERSION)$/, 'no_overlap'],
  [/^ERR_SSL_NO_(SHARED|SUITABLE|APPLICATION)_/, 'no_overlap'],
  [/^ERR_SSL_INAPPROPRIATE_FALLBACK$|NO_APPLICATION_PROTOCOL$/, 'no_overlap'],
  [/^ERR_SSL_(PEER_DID_NOT_RETURN_A_CERTIFICATE|CERTIFICATE_VERIFY_FAILED)$/, 'client_certificate'],
  [/^ERR_SSL_(TLSV1|TLSV13|SSLV3|SSL\/TLS)_ALERT_/, 'rejected'],
  [/^ERR_SSL_HTTP_REQUEST$/, 'cleartext'],
];

/**
 * Returns why a handshake failed, from the error that Node reports.
 *
 * @param isUnauthorized true if the client's certificate could not be verified: then Node reports no error
 */
function handshakeFailure(error: Error, isUnauthorized: boolean): HandshakeOutcome {
  if (isUnauthorized) return 'client_certificate';
  const code = 'code' in error ? String(error.code) : '';
  return REASONS.find(([pattern]) => pattern.test(code))?.[1] ?? 'malformed';
}

/** Maximum handshakes that begin in one turn of the event loop: the key operation of each may take a millisecond. */
const BEGUN_AT_A_TIME = 8;

interface Handshake {
  /** Begins the handshake: from now on it holds memory, and answers the client. */
  begin(): void;
  /** Ends the handshake because too many others are in progress. */
  refuse(): void;
}

/**
 * The TLS handshakes of all listeners: limits how many are in progress at once, and how many begin in one turn of the event loop.
 *
 * If there are too many, the oldest is ended. Under a flood of handshakes that never finish, the oldest most probably belongs to
 * the flood: an honest client needs only a few round trips.
 */
export class Handshakes {
  #max: number;
  /** The handshakes in progress, oldest first. */
  readonly #inProgress = new Set<Handshake>();
  readonly #waiting = new Set<Handshake>();
  #begun = 0;
  #isAsked = false;

  constructor(max: number) {
    this.#max = max;
  }

  use(max: number): void {
    this.#max = max;
  }

  /** Begins a handshake, in this turn of the event loop or a later one. Call `leave` when it ends. */
  enter(handshake: Handshake): void {
    this.#waiting.add(handshake);
    if (this.#begun < BEGUN_AT_A_TIME) this.#beginNext();
    this.#askForTurn();
  }

  leave(handshake: Handshake): void {
    this.#waiting.delete(handshake);
    this.#inProgress.delete(handshake);
  }

  #nextTurn(): void {
    this.#isAsked = false;
    this.#begun = 0;
    while (this.#waiting.size > 0 && this.#begun < BEGUN_AT_A_TIME) this.#beginNext();
    if (this.#begun > 0) this.#askForTurn();
  }

  #askForTurn(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    inNextTurn(() => this.#nextTurn());
  }

  #beginNext(): void {
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next);
    this.#begun++;
    const [oldest] = this.#inProgress;
    if (this.#inProgress.size >= this.#max) oldest?.refuse();
    // A reload has lowered the maximum.
    if (this.#inProgress.size >= this.#max) {
      next.refuse();
      return;
    }
    this.#inProgress.add(next);
    next.begin();
  }
}

/** Opens the stage after the handshake. `protocol` is the one that ALPN agreed on, or `null`. */
type OpenNext = (socket: Socket, client: ConnectedClient, protocol: string | null) => ClientConnection;

interface TlsTerminationDependencies {
  /** The name of the listener, which is its key under `listen`. */
  readonly listener: string;
  readonly handshakes: Handshakes;
  readonly events: ConnectionListener;
  /** 48 secret bytes. Sessions can be resumed as long as they stay the same. */
  readonly ticketKeys: Buffer;
}

/** The TLS of one listener under one configuration. */
export class TlsTermination {
  readonly options: TlsOptions;
  readonly #dependencies: TlsTerminationDependencies;
  readonly #server: Server;
  readonly #inProgress = new WeakMap<Socket, TlsHandshake>();

  constructor(options: TlsOptions, dependencies: TlsTerminationDependencies) {
    this.options = options;
    this.#dependencies = dependencies;
    this.#server = createTlsServer(options, dependencies.ticketKeys);
    this.#server.on('secureConnection', socket => this.#onSecure(socket));
    this.#server.on('tlsClientError', (error, socket) =>
      this.#handshakeOf(socket)?.fail(handshakeFailure(error, socket.authorizationError !== null)),
    );
  }

  /** Opens the handshake of an accepted socket. `next` opens the stage after it. */
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
        this.#inProgress.delete(handshake.socket);
        events.handshakeEnded(listener, outcome);
      },
      secured: socket => {
        const certificate = certificateField(socket);
        const secured = { ...client, scheme: 'https', certificate } as const;
        accepted.become(next(socket, secured, socket.alpnProtocol || null));
      },
      answerHttp: () => {
        const stage = next(accepted.socket, client, null);
        accepted.become(stage);
        stage.refuse(errors.badRequest('http on a port for https: write https:// in the URL'));
      },
    });
  }

  #wrap(handshake: TlsHandshake): void {
    this.#inProgress.set(handshake.socket, handshake);
    // TLS copies this setting from the socket. A client that closes its side during a handshake is gone.
    handshake.socket.allowHalfOpen = false;
    this.#server.emit('connection', handshake.socket);
  }

  #onSecure(socket: TLSSocket): void {
    const handshake = this.#handshakeOf(socket);
    // A renegotiation could be repeated forever, and TLS 1.3 has none.
    socket.disableRenegotiation();
    socket.allowHalfOpen = true;
    if (hasBadCertificate(socket)) handshake?.fail('client_certificate');
    else handshake?.succeed(socket);
  }

  #handshakeOf(socket: TLSSocket): TlsHandshake | undefined {
    const accepted = acceptedUnder(socket);
    return accepted === undefined ? undefined : this.#inProgress.get(accepted);
  }
}

/**
 * Returns the socket under TLS. Node documents no way to get it, and no other way to identify a connection during its handshake.
 */
function acceptedUnder(socket: TLSSocket): Socket | undefined {
  return (socket as { readonly _parent?: Socket })._parent;
}

/** Writes the client's certificate as a byte sequence of structured fields (RFC 9440, 2.2). */
function certificateField(socket: TLSSocket): string | null {
  const certificate = socket.authorized ? socket.getPeerX509Certificate() : undefined;
  return certificate === undefined ? null : `:${certificate.raw.toString('base64')}:`;
}
