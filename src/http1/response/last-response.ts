import type { Fields } from '../../core/index.ts';

/** The response that agrees to another protocol. */
export interface Switched {
  readonly fields: Fields;
  /** Bytes of the other protocol that followed it. */
  readonly behind: Buffer;
}

/** What the last response of a connection, or the one under way, says about the connection. */
export class LastResponse {
  /** A byte of it has come. */
  begun = false;
  /** How many interim responses came before it. */
  interim = 0;
  status = 0;
  /** No byte of a body came with it, whatever its framing. */
  bodiless = false;
  /** The connection must carry no further request. */
  close = false;
  /** How long the server keeps the connection, in milliseconds; null if it does not say. */
  keepAliveMs: number | null = null;
  /** It agreed to the protocol that was asked for. The sink was told nothing. */
  switched: Switched | null = null;

  /** Another request is sent. */
  begin(): void {
    this.begun = false;
    this.interim = 0;
    this.close = false;
    this.switched = null;
  }
}
