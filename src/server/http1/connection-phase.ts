import type { Exchange } from '../../gateway/index.ts';
import type { Http1Downstream } from './http1-downstream.ts';

/** What a connection is doing. */
export type Phase =
  /**
   * Waiting for a request, or inside its head, which began at `sinceMs`. For the first head that is when the connection was
   * accepted: a client that sends nothing is slow, too.
   */
  | { readonly name: 'head'; readonly sinceMs: number | null }
  /** A request is being answered. Its body may still be coming in. */
  | { readonly name: 'exchange'; readonly exchange: Exchange; readonly downstream: Http1Downstream }
  /** The request was answered before the end of its body, which is read and thrown away. */
  | { readonly name: 'rest of body' }
  /** The last response was sent. Further bytes are read and dropped: left unread, they would reset the connection. */
  | { readonly name: 'lingering'; readonly sinceMs: number }
  /** Nothing is read any more, and the socket is closed or closing. */
  | { readonly name: 'closed' };

export const BETWEEN_REQUESTS: Phase = { name: 'head', sinceMs: null };
export const REST_OF_BODY: Phase = { name: 'rest of body' };
export const CLOSED: Phase = { name: 'closed' };
