import type { Socket } from 'node:net';

/** A platform opens few connections at a time. */
const MAX_UNDER_WAY = 64;
const MAX_MS = 10_000;

/** Bounds the TLS handshakes of the admin listener in number and time. Where there are too many, the oldest gives way. */
export class HandshakeLimit {
  /** By what both the accepted socket and TLS on top of it know: the address of the other side. Oldest first. */
  readonly #underWay = new Map<string, { readonly socket: Socket; readonly timer: NodeJS.Timeout }>();

  begin(socket: Socket): void {
    const [oldest] = this.#underWay.values();
    if (oldest !== undefined && this.#underWay.size >= MAX_UNDER_WAY) this.#giveUp(oldest.socket);
    const timer = setTimeout(() => this.#giveUp(socket), MAX_MS).unref();
    const key = keyOf(socket);
    this.#underWay.set(key, { socket, timer });
    socket.once('close', () => this.#forget(key));
  }

  /** @param socket the accepted one, or TLS on top of it */
  end(socket: Socket): void {
    this.#forget(keyOf(socket));
  }

  #giveUp(socket: Socket): void {
    this.end(socket);
    socket.destroy();
  }

  #forget(key: string): void {
    clearTimeout(this.#underWay.get(key)?.timer);
    this.#underWay.delete(key);
  }
}

function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
