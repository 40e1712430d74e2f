import type { Socket } from 'node:net';
import type { GatewayError } from '../core/index.ts';

/** The other end of a connection, and how it connected. */
export interface ConnectedClient {
  /** The address of the connection's other end, or of the client that a PROXY header names. IPv4-mapped IPv6 is written as IPv4. */
  readonly peer: string;
  /** False if the peer relays an unknown client: its forwarding headers are not believed then, even if it is trusted. */
  readonly mayForward: boolean;
  readonly scheme: 'http' | 'https';
  /** True if its listener only redirects clients to https. */
  readonly redirects: boolean;
  /** The client's verified certificate, as the value of `Client-Cert` (RFC 9440); `null` if absent. */
  readonly certificate: string | null;
}

/** A client's connection, whatever its protocol. */
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

/** The value of `Date` on responses (RFC 9110, 6.6.1), made once a second rather than for each response. */
export class DateField {
  #second = Number.NaN;
  #text = '';

  at(epochMs: number): string {
    const second = Math.floor(epochMs / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#text = new Date(second * 1_000).toUTCString();
    }
    return this.#text;
  }
}

/** How far ages are spread: connections that began together would otherwise all reconnect together. */
const SPREAD = 0.1;

/**
 * Returns the moment at which a connection is old: the given age after its start, a tenth earlier or later, as gRPC does it
 * (https://github.com/grpc/proposal/blob/master/A9-server-side-conn-mgt.md).
 *
 * @param maxAgeMs `null` if it never gets old
 * @param part from 0 up to 1, says how far to move it within the spread
 */
export function oldAtMs(nowMs: number, maxAgeMs: number | null, part: number): number {
  if (maxAgeMs === null) return Number.POSITIVE_INFINITY;
  return nowMs + maxAgeMs * (1 - SPREAD + 2 * SPREAD * part);
}
