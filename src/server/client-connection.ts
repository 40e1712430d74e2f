import type { Socket } from 'node:net';
import type { GatewayError } from '../core/index.ts';

/** The other end of a connection, and how it connected. */
export interface Client {
  /** Address of the connection's other end, or what a PROXY header tells. IPv4-mapped IPv6 is written as IPv4. */
  readonly peer: string;
  /** False: the peer relays bytes of an unknown client, so its forwarding headers are not believed even if it is trusted. */
  readonly mayForward: boolean;
  readonly scheme: 'http' | 'https';
  /** Its listener serves no request, but sends clients on to https. */
  readonly redirects: boolean;
  /** Its verified certificate, as the value of `Client-Cert` (RFC 9440); null if absent. */
  readonly certificate: string | null;
}

/** A client's connection, whatever it speaks. */
export interface ClientConnection {
  /** The socket that was accepted. */
  readonly socket: Socket;
  /** Answers with an error where the protocol has a way to, and closes. */
  refuse(error: GatewayError): void;
  /** Checks whether something has taken too long. Called twice a second. */
  sweep(nowMs: number): void;
  /** Ends the connection once what is under way on it is done. */
  drain(): void;
  /** Asks the client, with its next response, to reconnect. A stage that serves no requests cannot. */
  retire?(): void;
}
